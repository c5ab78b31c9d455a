#include "serve/fleet_metrics.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "page/metric_family.h"
#include "wire/refused_handshakes.h"

namespace gpuscaler {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

template <typename Value>
MetricFamily OneGauge(absl::string_view name, absl::string_view help, Value value) {
  return OneValue(name, help, prometheus::MetricType::Gauge, static_cast<double>(value));
}

template <typename Value>
MetricFamily OneCounter(absl::string_view name, absl::string_view help, Value value) {
  return OneValue(name, help, prometheus::MetricType::Counter, static_cast<double>(value));
}

// Each agent's own series.
void AddAgents(const AgentsPage& page, absl::Time now, std::vector<MetricFamily>& families) {
  MetricFamily up = NewFamily("agent_up", "1 while the agent is connected and reports.",
                              prometheus::MetricType::Gauge);
  MetricFamily age = NewFamily(
      "agent_reading_age_seconds",
      "Age of the newest reading of the agent's GPUs, by the aggregator's clock; none before the "
      "first, nor of an agent if another one reports its node.",
      prometheus::MetricType::Gauge);
  MetricFamily reconnects =
      NewFamily("agent_reconnects_total", "Connections begun after the first one, failed ones too.",
                prometheus::MetricType::Counter);
  MetricFamily bytes = NewFamily("agent_received_bytes_total",
                                 "Bytes of the agent's messages, without what gRPC and TCP add.",
                                 prometheus::MetricType::Counter);
  for (const AgentStatus& agent : page.agents) {
    const auto found = page.counts.find(agent.address);
    const auto counts = found == page.counts.end() ? StreamCounts() : found->second;
    const std::vector<ClientMetric::Label> labels = {{"agent", agent.address},
                                                     {"node", agent.node}};
    AddValue(up, agent.connected ? 1 : 0, labels);
    if (agent.read_at > absl::InfinitePast()) {
      AddValue(age, absl::ToDoubleSeconds(std::max(now - agent.read_at, absl::ZeroDuration())),
               labels);
    }
    AddValue(reconnects, static_cast<double>(std::max<int64_t>(counts.attempts - 1, 0)), labels);
    AddValue(bytes, static_cast<double>(counts.bytes), labels);
  }
  families.insert(families.end(), {up, age, reconnects, bytes});
}

}  // namespace

std::string AgentsMetrics(const AgentsPage& page, absl::Time now) {
  const auto listed = std::ranges::count_if(page.agents, &AgentStatus::listed);
  const auto received = std::ranges::count_if(page.agents, &AgentStatus::connected);
  const auto all = static_cast<double>(page.agents.size());
  std::vector<MetricFamily> families = {
      OneGauge("agents_listed", "Agents that the newest answer to --agents has.", listed),
      OneGauge("agents_heard", "Agents that are connected.", received),
      OneGauge("agents_silent", "Agents that are not connected, and not forgotten yet.",
               all - static_cast<double>(received)),
      OneCounter("agents_forgotten_total",
                 "Agents that were lost and not listed for --forget-after.", page.faults.forgotten),
      OneGauge("agents_lookup_failing",
               "1 while DNS does not list the agents, and the last list stays in use.",
               page.faults.lookup_error.empty() ? 0 : 1),
      OneGauge("nodes_claimed_twice",
               "Nodes that two live agents with different GPUs have claimed for longer than "
               "--grace: their replicas are unreadable.",
               page.faults.disputed_nodes),
      OneGauge("pods_on_two_nodes",
               "Pods with a UID that several nodes report: their replicas are unreadable.",
               page.faults.shared_pods)};
  MetricFamily served =
      NewFamily("served_namespace",
                "1 for each namespace of --namespaces: other ScaledObjects are "
                "refused, and other pods' GPUs are not received. None without it.",
                prometheus::MetricType::Gauge);
  for (const std::string& name : page.namespaces) AddValue(served, 1, {{"namespace", name}});
  families.push_back(std::move(served));
  AddAgents(page, now, families);
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
      {OneGauge("telemetry_readers", "Aggregators that are connected.", counts.readers),
       OneCounter("telemetry_sent_bytes_total",
                  "Bytes of messages to aggregators, without what gRPC and TCP add.", counts.bytes),
       OneCounter("telemetry_snapshots_total", "Messages to aggregators with readings in them.",
                  snapshots),
       OneCounter("telemetry_heartbeats_total", "Messages to aggregators without a change.",
                  counts.heartbeats),
       refused});
}

std::string EngineReaderMetrics(const ReaderCounts& counts) {
  return MetricsText(
      {OneGauge("telemetry_engine_readers",
                "Aggregators that subscribe to the engines on this node.", counts.readers),
       OneCounter("telemetry_engine_readings_total",
                  "Readings of engines that were sent to aggregators.", counts.readings),
       OneCounter("telemetry_engine_sent_bytes_total",
                  "Bytes of messages to aggregators on engines, without what gRPC and TCP add.",
                  counts.bytes)});
}

std::string EngineStreamMetrics(int open_streams, const StreamCounts& counts) {
  return MetricsText(
      {OneGauge("engine_streams", "Agents that send the readings of the engines on their nodes.",
                open_streams),
       OneCounter("engine_streams_begun_total",
                  "Streams that were begun to agents for the engines on their nodes, failed ones "
                  "too.",
                  counts.attempts),
       OneCounter("engine_readings_received_total",
                  "Readings of engines that were received from agents.", counts.readings),
       OneCounter("engine_received_bytes_total",
                  "Bytes of agents' messages on engines, without what gRPC and TCP add.",
                  counts.bytes)});
}

std::string GrpcMetrics(const WireServerCounts& counts) {
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
  return MetricsText(
      {OneGauge("grpc_connections", "Connections of clients that the gRPC port has open.",
                counts.connections),
       limits, failed});
}

std::string WebMetrics(int64_t refused_replies) {
  return MetricsText({OneCounter("web_replies_refused_total",
                                 "Replies that the web port refused with 503, because too many "
                                 "bytes of others waited for slow clients (docs/security.md).",
                                 refused_replies)});
}

}  // namespace gpuscaler
