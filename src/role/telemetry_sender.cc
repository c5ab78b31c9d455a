#include "role/telemetry_sender.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "serve/fleet_metrics.h"
#include "trigger/trigger.h"

namespace gpuscaler {
namespace {

// How often aggregators are resolved. A refused reader makes the agent resolve them sooner.
constexpr absl::Duration kResolveAggregators = absl::Minutes(1);

}  // namespace

TelemetrySender::TelemetrySender(const Config& config, const Clock& clock,
                                 const PeersOption& aggregators, NodeSampler& node,
                                 std::function<void()> wake_engines)
    : names_aggregators_(!config.aggregators.empty()),
      sends_engines_(config.discover_engines != DiscoverEngines::kFalse),
      engines_(clock, std::move(wake_engines)),
      aggregators_(
          aggregators, [this](const auto& answer) { LogAggregators(answer); }, kResolveAggregators),
      telemetry_({.horizon = kLongestWindow + config.StaleAfter(),
                  .version = GPUSCALER_VERSION,
                  .read_every = config.ReadEvery(),
                  .engines = sends_engines_ ? &engines_ : nullptr,
                  .aggregators = &aggregators_,
                  .former_pods = [&node](auto pods) { node.AddFormerPods(std::move(pods)); }},
                 clock, node.store(), node.leases(), [&node] { node.Wake(); }) {}

void TelemetrySender::LogAggregators(const PeerAddresses::Answer& answer) {
  const bool are_known = !names_aggregators_ || (answer.ok() && !answer->empty());
  if (std::exchange(are_aggregators_known_, are_known) == are_known) return;
  if (are_known) {
    LogInfo("aggregators_known", {{"count", answer->size()}});
  } else {
    LogWarn("aggregators_unknown",
            {{"why", answer.ok() ? "none is listed" : answer.status().message()}});
  }
}

std::string TelemetrySender::Exposition() const {
  std::string page = TelemetryMetrics(telemetry_.counts());
  if (sends_engines_) absl::StrAppend(&page, EngineReaderMetrics(telemetry_.engine_counts()));
  return page;
}

}  // namespace gpuscaler
