// Polls inference engines: each once in an interval for all who want it.
//
//   EnginePoller poller(clock, absl::Seconds(1), [&](const EngineTarget&, const EngineNews&) { ...
//   }); poller.Poll({{target, {.histograms = true}}});
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "engine/engine_reader.h"
#include "page/page_poller.h"

namespace gpuscaler {

struct EngineWish {
  bool histograms = false;  // by far the most of what there is to read
  std::string tenant;       // PolledTarget::Tenant(): whoever was the first to want it
};

// Thread-safe.
class EnginePoller {
 public:
  // `sink` gets what came of each poll, on a thread of this, and must not block. `clock` outlives
  // it.
  EnginePoller(const Clock& clock, absl::Duration interval, EngineReader::Sink sink,
               const FetchLimits& limits = {});

  // These are polled from now on, and no others; of those that are not among them one more answer
  // may come.
  void Poll(const std::map<EngineTarget, EngineWish>& targets);

 private:
  const EngineReader::Sink sink_;
  Mutex mutex_;
  std::map<EngineTarget, std::shared_ptr<EngineReader>> readers_ ABSL_GUARDED_BY(mutex_);
  PagePoller poller_;  // last: it ends before what it tells
};

}  // namespace gpuscaler
