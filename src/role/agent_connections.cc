#include "role/agent_connections.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "serve/fleet_metrics.h"
#include "trigger/trigger.h"

namespace gpuscaler {
namespace {

// How often the subscription to costly readings is sent to agents. It lasts twice as long.
constexpr absl::Duration kRenewInterval = absl::Seconds(30);

// How long a new aggregator without any agent stays unready, because older ones in the Service may
// have answers. If all are new, the Service is empty meanwhile: KEDA's channels back off, and KEDA
// gets no reason. So this must be short.
constexpr absl::Duration kReadyWithin = absl::Seconds(10);

// A connection on which no message arrives for this time is dead, however long --grace is.
constexpr absl::Duration kLongestIdleTimeout = absl::Seconds(15);

}  // namespace

std::set<std::string> ServedNamespaces(const Config& config) {
  return absl::StrSplit(config.namespaces, ',', absl::SkipEmpty());
}

std::set<std::string> SeenNamespaces(const Config& config, const AllowedNamespaces& allowed) {
  const std::set<std::string> served = ServedNamespaces(config);
  std::set<std::string> seen = served;
  for (const auto& [from, to] : allowed) {
    if (served.contains(from)) seen.insert(to);
  }
  return seen;
}

AgentConnections::AgentConnections(const Options& options, const Clock& clock, FleetStore& fleet,
                                   Leases& leases, SignalStore& signals)
    : options_(options),
      clock_(clock),
      started_at_(clock.Now()),
      fleet_(fleet),
      leases_(leases),
      tls_(options.config.Tls(), clock),
      stream_(StreamOptions()),
      engines_(signals, options.allowed),
      watch_({.agents = options.agents, .stream = stream_}, clock, loop_, fleet),
      engine_watch_(stream_, clock, loop_, fleet, engines_),
      renewing_("renewal", kRenewInterval, [this] { RenewSubscription(); }),
      checking_("health", absl::Seconds(1), [this] { CheckFleet(); }) {}

AgentStreamOptions AgentConnections::StreamOptions() {
  const Config& config = options_.config;
  AgentStreamOptions stream{.history = kLongestWindow + config.StaleAfter(),
                            .idle_timeout = std::min(config.grace, kLongestIdleTimeout),
                            .reader = config.node_name,
                            .namespaces = SeenNamespaces(config, options_.allowed)};
  if (!config.Tls().Enabled()) return stream;
  stream.connection.tls = [this] { return tls_.Context(); };
  stream.connection.server_name = options_.agents.ServerName();
  stream.connection.binds_node_name = config.agent_identity == AgentIdentity::kSan;
  return stream;
}

absl::Duration AgentConnections::ReadyWithin() const {
  const bool has_some = std::ranges::any_of(fleet_.Agents(), [](const AgentStatus& agent) {
    return agent.received_at != absl::InfinitePast();
  });
  return has_some ? options_.config.empty_after + kReadyWithin : kReadyWithin;
}

void AgentConnections::CheckFleet() {
  const absl::Status known = fleet_.Check();
  if (!is_ready_ && (known.ok() || clock_.Now() - started_at_ >= ReadyWithin())) {
    is_ready_ = true;
    if (!known.ok()) LogWarn("ready_without_fleet", {{"why", known.message()}});
  }
  options_.checked(known, is_ready_);
}

void AgentConnections::RenewSubscription() {
  const CostlyReadings subscription = leases_.Subscription(clock_.Now());
  if (subscription != CostlyReadings()) watch_.Subscribe(subscription, 2 * kRenewInterval);
}

std::string AgentConnections::Exposition(absl::Time now) const {
  return absl::StrCat(AgentsMetrics({.agents = fleet_.Agents(),
                                     .counts = watch_.CountsOfAgents(),
                                     .faults = fleet_.faults(),
                                     .namespaces = ServedNamespaces(options_.config)},
                                    now),
                      EngineStreamMetrics(engine_watch_.open_streams(), engine_watch_.counts()));
}

std::vector<PeriodicThread*> AgentConnections::Threads() {
  std::vector<PeriodicThread*> threads = {&renewing_, &checking_, &engine_watch_.thread()};
  for (PeriodicThread* const thread : watch_.Threads()) threads.push_back(thread);
  return threads;
}

}  // namespace gpuscaler
