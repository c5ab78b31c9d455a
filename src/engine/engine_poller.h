// Polls inference engines. Each server is read once per interval for all triggers that name it,
// whatever name and path they use.
//
//   EnginePoller poller(clock, absl::Seconds(1), [&](const EngineTarget&, const EngineUpdate&) {
//   ...
//   }); poller.Poll({{target, {.histograms = true}}});
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "engine/engine_reader.h"
#include "page/scrape_poller.h"

namespace gpuscaler {

struct EngineInterest {
  bool histograms = false;  // the largest part of a reading
  std::string tenant;       // PolledTarget::Tenant(), of the first trigger that names the engine
};

using EngineTargets = std::map<EngineTarget, EngineInterest>;

// Thread-safe.
class EnginePoller {
 public:
  // `sink` gets the result of each poll on the poller's thread and must not block. `clock` must
  // outlive the poller.
  EnginePoller(const Clock& clock, absl::Duration interval, EngineReader::Sink sink,
               const FetchLimits& limits = {});

  // Polls exactly `targets` from now on. One more result may come from a target that is removed.
  void Poll(const EngineTargets& targets);

 private:
  class Server;

  const EngineReader::Sink sink_;
  Mutex mutex_;
  // Keyed by address, without path.
  std::map<ScrapeRequest, std::shared_ptr<Server>> servers_ ABSL_GUARDED_BY(mutex_);
  ScrapePoller poller_;  // last: destroyed before `servers_` and `sink_`
};

}  // namespace gpuscaler
