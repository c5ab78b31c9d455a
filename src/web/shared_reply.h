// A reply that is expensive to make, and the same for all clients.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "web/gzip.h"
#include "web/web_reply.h"

namespace gpuscaler {

// Makes the reply at most once in `interval` of real time, and compresses it once. Its bytes are
// shared. Thread-safe.
class SharedReply {
 public:
  explicit SharedReply(std::function<WebReply()> make, absl::Duration interval = absl::Seconds(1))
      : make_(std::move(make)), interval_(interval) {}

  // Blocks while another thread makes the reply.
  WebReply Get() {
    MutexLock lock(mutex_);
    const absl::Time now = clock_.Now();
    if (now - made_at_ >= interval_) {
      reply_ = make_();
      reply_.gzip = std::make_shared<const std::string>(Gzip(*reply_.body));
      made_at_ = clock_.Now();
    }
    return reply_;
  }

 private:
  const std::function<WebReply()> make_;
  const absl::Duration interval_;
  const SteadyClock clock_;
  Mutex mutex_;
  WebReply reply_ ABSL_GUARDED_BY(mutex_);
  absl::Time made_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace gpuscaler
