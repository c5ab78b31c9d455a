// The replies that clients have not read yet, and a limit on their total bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace gpuscaler {

// A body counts once, however many connections share it, because it is in memory once. A body that
// a SharedReply holds counts too: slow clients may hold it for longer. Thread-safe.
class UnreadReplies {
 public:
  using Body = std::shared_ptr<const std::string>;

  // Smaller bodies never count. They fit into the socket's buffer, so no client can keep them here.
  static constexpr size_t kLeastBytes = 1024;

  explicit UnreadReplies(size_t most_bytes) : most_bytes_(most_bytes) {}

  // Returns `body`, which counts until the last copy of the result is gone; this object must
  // outlive them. Returns null if more than `most_bytes` would then count.
  Body Add(Body body) {
    if (body->size() < kLeastBytes) return body;
    if (!Count(*body)) return nullptr;
    const std::string* const bytes = body.get();
    return {bytes, [this, body = std::move(body)](const std::string*) { Remove(*body); }};
  }

  size_t bytes() const {
    MutexLock lock(mutex_);
    return bytes_;
  }

  // How often Add() has returned null.
  int64_t refused() const {
    MutexLock lock(mutex_);
    return refused_;
  }

 private:
  bool Count(const std::string& body) {
    MutexLock lock(mutex_);
    const auto [holders, is_new] = holders_.try_emplace(&body, 0);
    if (is_new && bytes_ + body.size() > most_bytes_) {
      holders_.erase(holders);
      ++refused_;
      return false;
    }
    if (is_new) bytes_ += body.size();
    ++holders->second;
    return true;
  }

  void Remove(const std::string& body) {
    MutexLock lock(mutex_);
    const auto holders = holders_.find(&body);
    if (--holders->second > 0) return;
    holders_.erase(holders);
    bytes_ -= body.size();
  }

  const size_t most_bytes_;
  mutable Mutex mutex_;
  // How many results of Add() hold each body.
  std::map<const std::string*, int> holders_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gpuscaler
