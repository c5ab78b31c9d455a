// Reads the engines at addresses, the pages and the queues that a store is asked for, and tells it
// what they say.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "base/stop_all.h"
#include "engine/engine_poller.h"
#include "redis/redis_reader.h"
#include "series/scraped_number_poller.h"
#include "signal/signal_store.h"
#include "signal/source_locator.h"

namespace gpuscaler {

struct SignalWatchOptions {
  absl::Duration interval = absl::Seconds(1);               // how often an engine is read
  absl::Duration queue_interval = absl::Milliseconds(200);  // and a page or a queue
  absl::Duration longest_gap = absl::Seconds(5);            // the store's
  LocatorOptions places;
};

// Each source is read while the store wants it, and those of one place once. Has threads of its
// own; thread-safe.
class SignalWatch {
 public:
  // Clock and store outlive it.
  SignalWatch(const SignalWatchOptions& options, const Clock& clock, SignalStore& store);
  ~SignalWatch();

  // The store wants something new: it is read at once.
  void Wake() { looking_.Wake(); }

  // To be stopped at the end: credentials on a disk that hangs are waited for.
  NamedThread Thread() { return {&looking_, "signals"}; }

 private:
  // Who wants an engine, and what it is called there.
  struct EngineRoute {
    SignalSource source;
    EnginePlace place;
  };
  using EngineRoutes = std::map<EngineTarget, std::vector<EngineRoute>>;
  // All that is to be read now.
  struct Targets {
    std::map<EngineTarget, EngineInterest> engines;
    EngineRoutes engine_routes;
    std::map<ScrapeRequest, NumbersInterest> pages;
    std::vector<RedisTarget> queues;
    std::map<std::string, MetricSelector> selectors;  // of the pages, by their texts
  };

  void Look();
  void Add(const SubscribedSignal& wanted, Targets& targets);
  void AddEngines(const SubscribedSignal& wanted, const LocatedSource& located, Targets& targets);
  // Null: it is none.
  const MetricSelector* SelectorOf(const std::string& text, Targets& targets);
  void AddPages(const SignalSource& source, const LocatedSource& located, Targets& targets);
  static void AddQueue(const SignalSource& source, const LocatedSource& located, Targets& targets);
  void Refuse(const SignalSource& source, const absl::Status& why);

  void TakeEngine(const EngineTarget& target, const EngineUpdate& update);
  void TakeQueue(const RedisReading& reading);

  const Clock& clock_;
  SignalStore& store_;
  const EndpointRules rules_;
  const FetchLimits limits_;  // with the memory that engines, pages and queues share
  Mutex mutex_;
  EngineRoutes engine_routes_ ABSL_GUARDED_BY(mutex_);
  EnginePoller engines_;
  ScrapedNumberPoller pages_;
  RedisReader queues_;
  std::map<std::string, MetricSelector> selectors_;  // the thread's, of its last look
  std::unique_ptr<SourceLocator> locator_;
  PeriodicThread looking_;
};

}  // namespace gpuscaler
