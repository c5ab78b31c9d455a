// Reads the engines at addresses, metrics endpoints and queues that a store has leases for, and
// puts the readings into it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "engine/engine_poller.h"
#include "engine/scraped_number_poller.h"
#include "signal/redis_reader.h"
#include "signal/signal_store.h"
#include "signal/source_locator.h"

namespace gpuscaler {

struct SignalWatchOptions {
  absl::Duration interval = absl::Seconds(1);               // between two reads of an engine
  absl::Duration queue_interval = absl::Milliseconds(200);  // between two reads of a metrics
                                                            // endpoint or queue
  absl::Duration max_gap = absl::Seconds(5);                // as in SignalStore::Limits
  LocatorOptions locator;
};

// Reads each leased source; sources at one address share a request. Has its own threads.
// Thread-safe.
class SignalWatch {
 public:
  // Clock and store must outlive this object.
  SignalWatch(const SignalWatchOptions& options, const Clock& clock, SignalStore& store);
  ~SignalWatch();

  // Call it when the store has a new source: it is read at once.
  void Wake() { thread_.Wake(); }

  // Must be stopped at shutdown: it may block on credentials on a disk that hangs.
  PeriodicThread& thread() { return thread_; }

 private:
  using EngineSources = std::map<EngineTarget, std::vector<SignalSource>>;
  // Everything to read now.
  struct Targets {
    EngineTargets engines;
    EngineSources engine_sources;  // those that use each of `engines`
    std::map<ScrapeRequest, NumbersInterest> pages;
    std::vector<RedisTarget> queues;
    std::map<std::string, MetricSelector> selectors;  // the pages'; key: selector text
  };

  void UpdateTargets();
  void Add(const LeasedSource& leased, Targets& targets);
  void AddEngines(const LeasedSource& leased, const LocatedSource& located, Targets& targets);
  // Returns nullptr if the text is not a selector.
  const MetricSelector* SelectorOf(const std::string& text, Targets& targets);
  void AddPages(const SignalSource& source, const LocatedSource& located, Targets& targets);
  static void AddQueue(const SignalSource& source, const LocatedSource& located, Targets& targets);
  void Refuse(const SignalSource& source, const absl::Status& why);

  void AddReading(const EngineTarget& target, const EngineUpdate& update);
  void AddQueueLength(const RedisReading& reading);

  const Clock& clock_;
  SignalStore& store_;
  const EndpointRules rules_;
  const FetchLimits limits_;  // with the memory that engines, pages and queues share
  Mutex mutex_;
  EngineSources engine_sources_ ABSL_GUARDED_BY(mutex_);
  EnginePoller engines_;
  ScrapedNumberPoller pages_;
  RedisReader queues_;
  std::map<std::string, MetricSelector> selectors_;  // used only by the thread; those of its last
                                                     // pass
  std::unique_ptr<SourceLocator> locator_;
  PeriodicThread thread_;
};

}  // namespace gpuscaler
