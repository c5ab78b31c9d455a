// Reads engines, metrics endpoints and queues for a role that answers KEDA. The threads start with
// the first trigger that needs one.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "page/endpoint_addresses.h"
#include "role/config.h"
#include "serve/signal_access.h"
#include "signal/signal_store.h"
#include "signal/signal_watch.h"

namespace gpuscaler {

// Overrides for the demo: its engines are local processes, and its clock is faster.
struct DemoOverrides {
  EndpointAddresses::Options addresses;  // how names are resolved
  double clock_speed = 1;                // seconds of the clock per real second
};

// Requires a checked configuration.
EndpointRules EndpointRulesOf(const Config& config);

// Thread-safe.
class SignalReader {
 public:
  // Requires a checked configuration. `clock` must outlive it. Calls `on_new_source` when there is
  // a new source to read; it must not block.
  SignalReader(
      const Config& config, const Clock& clock, std::function<void()> on_new_source = [] {},
      const DemoOverrides& overrides = {});

  // `finds_engines`: engine discovery adds engines without an engineEndpoint to the store.
  SignalAccess access(bool finds_engines) {
    return {.store = &store_, .rules = options_.locator.rules, .finds_engines = finds_engines};
  }
  SignalStore& store() { return store_; }
  SignalCountsByKind counts() const { return store_.Counts(); }
  // Returns the threads, for the caller to stop. Starts none afterwards.
  std::vector<PeriodicThread*> ReleaseThreads();

 private:
  void Wake();

  const Clock& clock_;
  const SignalWatchOptions options_;
  const std::function<void()> on_new_source_;
  SignalStore store_;
  Mutex mutex_;
  bool are_threads_released_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<SignalWatch> watch_ ABSL_GUARDED_BY(mutex_);  // null: no source was needed yet
};

}  // namespace gpuscaler
