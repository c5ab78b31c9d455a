// Passes discovered engines of an agent's node to its EngineLog, which aggregators read.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "discovery/engine_discovery.h"
#include "fleet/engine_log.h"
#include "signal/found_engines.h"

namespace gpuscaler {

class EngineLogListener : public EngineSubscriber {
 public:
  explicit EngineLogListener(EngineLog& log) : log_(log) {}  // `log` must outlive it

  EngineSubscription Subscription(absl::Time /*now*/) override { return log_.Subscription(); }
  void SetEngines(const absl::StatusOr<NodeEngines>& found, absl::Time /*at*/) override {
    log_.List(found);
  }
  void AddReading(const EngineAddress& engine_address, const EngineUpdate& update) override {
    log_.AddReading(engine_address, update);
  }

 private:
  EngineLog& log_;
};

}  // namespace gpuscaler
