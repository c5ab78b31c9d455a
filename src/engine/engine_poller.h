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
#include "engine/shared_engine_poll.h"
#include "page/scrape_poller.h"

namespace gpuscaler {

struct EngineInterest {
  bool histograms = false;  // the largest part of a reading
  std::string tenant;       // PolledTarget::Tenant(), of the first trigger that names the engine
};

// Thread-safe.
class EnginePoller {
 public:
  // `sink` gets the result of each poll on the poller's thread and must not block. `clock` must
  // outlive the poller.
  EnginePoller(const Clock& clock, absl::Duration interval, EngineReader::Sink sink,
               const FetchLimits& limits = {});

  // Polls exactly `targets` from now on. One more result may come from a target that is removed.
  void Poll(const std::map<EngineTarget, EngineInterest>& targets);

 private:
  using Readers = std::map<EngineTarget, std::shared_ptr<EngineReader>>;
  struct Server {
    Readers readers;  // SharedEnginePoll's
    std::shared_ptr<SharedEnginePoll> polled;
  };

  // Returns `current` if it has exactly the `wanted` targets, else a new server.
  Server ServerFor(const std::map<EngineTarget, EngineInterest>& wanted, Server current) const;

  const EngineReader::Sink sink_;
  Mutex mutex_;
  // Keyed by address, without path.
  std::map<ScrapeRequest, Server> servers_ ABSL_GUARDED_BY(mutex_);
  ScrapePoller poller_;  // last: destroyed before `servers_` and `sink_`
};

}  // namespace gpuscaler
