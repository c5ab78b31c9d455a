// Passes discovered engines of a standalone scaler's node to its SignalStore.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/allowed_namespaces.h"
#include "signal/engine_discovery.h"
#include "signal/found_engines.h"
#include "signal/signal_store.h"

namespace gpuscaler {

// Thread-safe.
class SignalStoreListener : public EngineSubscriber {
 public:
  // `store` must outlive it.
  SignalStoreListener(SignalStore& store, std::string node, AllowedNamespaces allowed)
      : node_(std::move(node)), found_(store, std::move(allowed)) {}

  EngineSubscription Subscription(absl::Time now) override {
    EngineSubscription subscription = found_.Subscription(now);
    found_.SetNodes(subscription, {node_}, now);
    return subscription;
  }
  void SetEngines(const absl::StatusOr<NodeEngines>& found, absl::Time at) override {
    found_.SetEngines(node_, found, at);
  }
  void AddReading(const EngineAddress& engine_address, const EngineUpdate& update) override {
    found_.AddReading(node_, engine_address, update);
  }

 private:
  const std::string node_;
  FoundEngines found_;
};

}  // namespace gpuscaler
