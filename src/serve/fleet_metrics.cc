#include "serve/fleet_metrics.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "page/metric_family.h"
#include "wire/refused_handshakes.h"

namespace gpuscaler {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

// Each agent's own series.
class AgentFamilies {
 public:
  explicit AgentFamilies(absl::Time now) : now_(now) {}

  void Add(const AgentStatus& agent, const StreamCounts& counts) {
    const std::vector<ClientMetric::Label> labels = {{"agent", agent.address},
                                                     {"node", agent.node}};
    AddValue(up_, agent.connected ? 1 : 0, labels);
    if (agent.read_at > absl::InfinitePast()) {
      AddValue(age_, absl::ToDoubleSeconds(std::max(now_ - agent.read_at, absl::ZeroDuration())),
               labels);
    }
    AddValue(reconnects_, static_cast<double>(std::max<int64_t>(counts.attempts - 1, 0)), labels);
    AddValue(bytes_, static_cast<double>(counts.bytes), labels);
  }

  std::vector<MetricFamily> Take() { return {up_, age_, reconnects_, bytes_}; }

 private:
  const absl::Time now_;
  MetricFamily up_ = NewFamily("agent_up", "1 while the agent is connected and reports.",
                               prometheus::MetricType::Gauge);
  MetricFamily age_ = NewFamily(
      "agent_reading_age_seconds",
      "Age of the newest reading of the agent's GPUs, by the aggregator's clock; none before the "
      "first, nor of an agent if another one reports its node.",
      prometheus::MetricType::Gauge);
  MetricFamily reconnects_ =
      NewFamily("agent_reconnects_total", "Connections begun after the first one, failed ones too.",
                prometheus::MetricType::Counter);
  MetricFamily bytes_ = NewFamily("agent_received_bytes_total",
                                  "Bytes of the agent's messages, without what gRPC and TCP add.",
                                  prometheus::MetricType::Counter);
};

}  // namespace

std::string AgentsMetrics(const AgentsPage& page, absl::Time now) {
  const auto listed = std::ranges::count_if(page.agents, &AgentStatus::listed);
  const auto received = std::ranges::count_if(page.agents, &AgentStatus::connected);
  const auto all = static_cast<double>(page.agents.size());
  std::vector<MetricFamily> families = {
      OneValue("agents_listed", "Agents that the newest answer to --agents has.",
               prometheus::MetricType::Gauge, static_cast<double>(listed)),
      OneValue("agents_heard", "Agents that are connected.", prometheus::MetricType::Gauge,
               static_cast<double>(received)),
      OneValue("agents_silent", "Agents that are not connected, and not forgotten yet.",
               prometheus::MetricType::Gauge, all - static_cast<double>(received)),
      OneValue("agents_forgotten_total", "Agents that were lost and not listed for --forget-after.",
               prometheus::MetricType::Counter, static_cast<double>(page.faults.forgotten)),
      OneValue("agents_lookup_failing",
               "1 while DNS does not list the agents, and the last list stays in use.",
               prometheus::MetricType::Gauge, page.faults.lookup_error.empty() ? 0 : 1),
      OneValue("nodes_claimed_twice",
               "Nodes that two live agents with different GPUs have claimed for longer than "
               "--grace: their replicas are unreadable.",
               prometheus::MetricType::Gauge, static_cast<double>(page.faults.disputed_nodes)),
      OneValue("pods_on_two_nodes",
               "Pods with a UID that several nodes report: their replicas are unreadable.",
               prometheus::MetricType::Gauge, static_cast<double>(page.faults.shared_pods))};
  MetricFamily served =
      NewFamily("served_namespace",
                "1 for each namespace of --namespaces: other ScaledObjects are "
                "refused, and other pods' GPUs are not received. None without it.",
                prometheus::MetricType::Gauge);
  for (const std::string& name : page.namespaces) AddValue(served, 1, {{"namespace", name}});
  families.push_back(std::move(served));
  AgentFamilies per_agent(now);
  for (const AgentStatus& agent : page.agents) {
    const auto counts = page.counts.find(agent.address);
    per_agent.Add(agent, counts == page.counts.end() ? StreamCounts() : counts->second);
  }
  std::ranges::move(per_agent.Take(), std::back_inserter(families));
  return MetricsText(families);
}

std::string TelemetryMetrics(const ReaderCounts& counts) {
  MetricFamily refused = NewFamily("telemetry_refused_total",
                                   "Readers that were refused a stream or lost it to one that "
                                   "comes first, by reason; those without a valid certificate "
                                   "fail in the handshake.",
                                   prometheus::MetricType::Counter);
  AddValue(refused, static_cast<double>(counts.refused_as_too_many), {{"reason", "too_many"}});
  AddValue(refused, static_cast<double>(counts.refused_as_stopping), {{"reason", "stopping"}});
  const int64_t snapshots = counts.messages - counts.heartbeats;
  return MetricsText(
      {OneValue("telemetry_readers", "Aggregators that are connected.",
                prometheus::MetricType::Gauge, counts.readers),
       OneValue("telemetry_sent_bytes_total",
                "Bytes of messages to aggregators, without what gRPC and TCP add.",
                prometheus::MetricType::Counter, static_cast<double>(counts.bytes)),
       OneValue("telemetry_snapshots_total", "Messages to aggregators with readings in them.",
                prometheus::MetricType::Counter, static_cast<double>(snapshots)),
       OneValue("telemetry_heartbeats_total", "Messages to aggregators without a change.",
                prometheus::MetricType::Counter, static_cast<double>(counts.heartbeats)),
       refused});
}

std::string EngineReaderMetrics(const ReaderCounts& counts) {
  return MetricsText(
      {OneValue("telemetry_engine_readers",
                "Aggregators that subscribe to the engines on this node.",
                prometheus::MetricType::Gauge, counts.readers),
       OneValue("telemetry_engine_readings_total",
                "Readings of engines that were sent to aggregators.",
                prometheus::MetricType::Counter, static_cast<double>(counts.readings)),
       OneValue("telemetry_engine_sent_bytes_total",
                "Bytes of messages to aggregators on engines, without what gRPC and TCP add.",
                prometheus::MetricType::Counter, static_cast<double>(counts.bytes))});
}

std::string EngineStreamMetrics(int open_streams, const StreamCounts& counts) {
  return MetricsText(
      {OneValue("engine_streams", "Agents that send the readings of the engines on their nodes.",
                prometheus::MetricType::Gauge, open_streams),
       OneValue("engine_streams_begun_total",
                "Streams that were begun to agents for the engines on their nodes, failed ones "
                "too.",
                prometheus::MetricType::Counter, static_cast<double>(counts.attempts)),
       OneValue("engine_readings_received_total",
                "Readings of engines that were received from agents.",
                prometheus::MetricType::Counter, static_cast<double>(counts.readings)),
       OneValue("engine_received_bytes_total",
                "Bytes of agents' messages on engines, without what gRPC and TCP add.",
                prometheus::MetricType::Counter, static_cast<double>(counts.bytes))});
}

std::string GrpcMetrics(const WireServerCounts& counts) {
  MetricFamily connections =
      NewFamily("grpc_connections", "Connections of clients that the gRPC port has open.",
                prometheus::MetricType::Gauge);
  AddValue(connections, static_cast<double>(counts.connections));
  MetricFamily limits = NewFamily(
      "grpc_limits_total",
      "Connections and calls that the gRPC port refused or ended, by the limit that a client hit "
      "(docs/security.md).",
      prometheus::MetricType::Counter);
  for (int i = 0; i < kLimitCount; ++i) {
    AddValue(limits, static_cast<double>(counts.limits[static_cast<size_t>(i)]),
             {{"limit", std::string(Name(static_cast<Limit>(i)))}});
  }
  MetricFamily failed = NewFamily(
      "tls_handshakes_failed_total",
      "TLS handshakes of gRPC that failed, by reason. no_certificate, untrusted_certificate and "
      "wrong_name: the other side's certificate. turned_away: it refused ours. no_tls: it has "
      "none. wrong_node: an agent's certificate is not for its node (--agent-identity=san).",
      prometheus::MetricType::Counter);
  for (int i = 0; i < kHandshakeFaultCount; ++i) {
    const auto fault = static_cast<HandshakeFault>(i);
    AddValue(failed, static_cast<double>(CountedHandshakes(fault)),
             {{"reason", std::string(Name(fault))}});
  }
  return MetricsText({connections, limits, failed});
}

}  // namespace gpuscaler
