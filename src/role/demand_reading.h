// Engines, pages and queues, for a role that answers KEDA: read by threads that begin with the
// first trigger that wants any.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/stop_all.h"
#include "config/config.h"
#include "endpoint/endpoint_addresses.h"
#include "serve/signal_access.h"
#include "signal/signal_store.h"
#include "signal/signal_watch.h"

namespace gpuscaler {

// What is otherwise where there is no cluster: in the demo.
struct DemandSurroundings {
  EndpointAddresses::Options addresses;  // what names lead to
  double clock_speed = 1;                // seconds of the clock a real one
};

// What triggers may name; the configuration's texts are checked.
EndpointRules EndpointRulesOf(const Config& config);

// Thread-safe.
class DemandReading {
 public:
  // What the configuration allows; its texts are checked. `clock` outlives it. `wanted` is called
  // when there is a source more to read, and must not block.
  DemandReading(
      const Config& config, const Clock& clock, std::function<void()> wanted = [] {},
      const DemandSurroundings& surroundings = {});

  // `finds_engines`: somebody else tells the store of those that nobody named.
  SignalAccess access(bool finds_engines) {
    return {.store = &store_, .rules = options_.places.rules, .finds_engines = finds_engines};
  }
  SignalStore& store() { return store_; }
  SignalCountsByKind counts() const { return store_.Counts(); }
  // Those to be stopped at the end.
  std::vector<NamedThread> Threads();

 private:
  void Wake();

  const Clock& clock_;
  const SignalWatchOptions options_;
  const std::function<void()> wanted_;
  SignalStore store_;
  Mutex mutex_;
  std::unique_ptr<SignalWatch> watch_ ABSL_GUARDED_BY(mutex_);  // null: nothing was wanted yet
};

}  // namespace gpuscaler
