// Polls inference engines: each once in an interval for all who want it, by whatever name and path.
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
#include "engine/shared_engine.h"
#include "page/scrape_poller.h"

namespace gpuscaler {

struct EngineInterest {
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
  void Poll(const std::map<EngineTarget, EngineInterest>& targets);

 private:
  using Readers = std::map<EngineTarget, std::shared_ptr<EngineReader>>;
  struct Server {
    Readers readers;  // by what is wanted there
    std::shared_ptr<SharedEngine> polled;
  };

  // Those that are there, if they are the very ones that are wanted, or else new ones.
  Server Following(const std::map<EngineTarget, EngineInterest>& wanted, Server known) const;

  const EngineReader::Sink sink_;
  Mutex mutex_;
  // By how it is reached, without a path.
  std::map<ScrapeRequest, Server> servers_ ABSL_GUARDED_BY(mutex_);
  ScrapePoller poller_;  // last: it ends before what it tells
};

}  // namespace gpuscaler
