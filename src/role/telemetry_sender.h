// Sends the readings of this node and of its engines to aggregators: the part of an agent.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/periodic_thread.h"
#include "fleet/engine_log.h"
#include "fleet/peer_addresses.h"
#include "fleet/telemetry_service.h"
#include "role/config.h"
#include "role/node_sampler.h"
#include "signal/engine_discovery.h"
#include "signal/found_engines.h"

namespace gpuscaler {

// Receives the engines that discovery finds and reads. Thread-safe.
class TelemetrySender : public EngineSubscriber {
 public:
  // `clock` and `node` must outlive it. `aggregators` are those of --aggregators. Calls
  // `wake_engines` when an aggregator needs other engines than before; it must not block.
  TelemetrySender(const Config& config, const Clock& clock, const PeersOption& aggregators,
                  NodeSampler& node, std::function<void()> wake_engines);

  // Must outlive the server of these methods.
  Methods methods() { return telemetry_.methods(); }

  EngineSubscription Subscription(absl::Time /*now*/) override { return engines_.Subscription(); }
  void SetEngines(const absl::StatusOr<NodeEngines>& found, absl::Time /*at*/) override {
    engines_.List(found);
  }
  void AddReading(const EngineAddress& engine_address, const EngineUpdate& update) override {
    engines_.AddReading(engine_address, update);
  }

  std::string Exposition() const;

  // As TelemetryService::StopStreams().
  void StopStreams() { telemetry_.StopStreams(); }

  // Must be stopped at shutdown.
  PeriodicThread* thread() { return aggregators_.thread(); }

 private:
  void LogAggregators(const PeerAddresses::Answer& answer);

  const bool names_aggregators_;  // --aggregators is set
  const bool sends_engines_;
  EngineLog engines_;
  bool are_aggregators_known_ = true;  // used by the thread of aggregators_ only
  PeerAddresses aggregators_;
  TelemetryService telemetry_;
};

}  // namespace gpuscaler
