#include "serve/fleet_viewer.h"

#include <algorithm>
#include <utility>

#include "fleet/gpu_wire.h"
#include "fleet/telemetry_wire.h"
#include "fleetview.pb.h"
#include "scaling/pod_replicas.h"

namespace gpuscaler {
namespace {

constexpr size_t kMaxWaiting = 4;

using gpuscaler::v1::FleetView;
using gpuscaler::v1::ViewedAgent;
using gpuscaler::v1::ViewedNode;
using gpuscaler::v1::ViewRequest;

// Empty: the node counts. If any node has kubelet attribution, a node without it counts for no
// workload.
std::string WhyLeftOut(const NodeState& state, bool by_owner, const StalenessLimits& staleness,
                       absl::Time now) {
  std::string why = WhyStale(state, now, staleness);
  return why.empty() && by_owner ? WhyOwnersUnknown(state) : why;
}

void AddNode(const NodeState& state, std::string left_out, absl::Time now, FleetView& view) {
  const NodeHistory& history = *state.history;
  ViewedNode& node = *view.add_nodes();
  *node.mutable_node() = NodeOf(history.Newest());
  *node.mutable_newest() = WholeReading(history.Newest());
  node.set_age_seconds(absl::ToDoubleSeconds(now - history.NewestAt()));
  node.set_heard_seconds_ago(absl::ToDoubleSeconds(now - state.received_at));
  node.set_silence(state.why_disconnected);
  node.set_left_out(std::move(left_out));
}

void AddAgent(const AgentStatus& agent, absl::Time now, FleetView& view) {
  ViewedAgent& viewed = *view.add_agents();
  viewed.set_address(agent.address);
  viewed.set_node(agent.node);
  viewed.set_version(agent.version);
  viewed.set_listed(agent.listed);
  viewed.set_connected(agent.connected);
  viewed.set_superseded(agent.superseded);
  if (agent.received_at > absl::InfinitePast()) {
    viewed.set_heard_seconds_ago(absl::ToDoubleSeconds(now - agent.received_at));
  }
  viewed.set_why(agent.why);
}

}  // namespace

FleetView FleetViewOf(const absl::StatusOr<FleetReader::FleetPtr>& fleet,
                      const std::vector<AgentStatus>& agents, const StalenessLimits& staleness,
                      absl::Time now) {
  FleetView view;
  view.set_now_us(ToWire(now));
  if (fleet.ok()) {
    for (const NodeState& state : (*fleet)->nodes) {
      AddNode(state, WhyLeftOut(state, (*fleet)->queries_kubelets, staleness, now), now, view);
    }
  } else {
    view.set_trouble(std::string(fleet.status().message()));
  }
  for (const AgentStatus& agent : agents) AddAgent(agent, now, view);
  return view;
}

bool IsOnThisHost(absl::string_view peer) {
  return peer == "127.0.0.1" || peer == "::1" || peer == "unix";
}

FleetViewer::FleetViewer(FleetViewerOptions options, const Clock& clock, const FleetReader& fleets)
    : options_(std::move(options)), clock_(clock), fleets_(fleets) {}

Methods FleetViewer::methods() const {
  const auto view = [this](const std::shared_ptr<ServerCall>& call, const ViewRequest&) {
    if (!IsOnThisHost(call->headers().peer)) {
      return call->Finish(absl::PermissionDeniedError(
          "all namespaces are shown to clients on the scaler's own host alone: use kubectl exec or "
          "kubectl port-forward"));
    }
    const bool is_queued = showing_.Run(
        [this, call] {
          const bool has_agents = options_.agents != nullptr;
          const auto agents = has_agents ? options_.agents() : std::vector<AgentStatus>();
          FleetView shown =
              FleetViewOf(fleets_.AllNodes(), agents, options_.staleness, clock_.Now());
          shown.set_version(options_.version);
          shown.mutable_namespaces()->Assign(options_.namespaces.begin(),
                                             options_.namespaces.end());
          Reply(*call, shown);
        },
        kMaxWaiting);
    if (!is_queued) call->Finish(absl::ResourceExhaustedError("others request the fleet too"));
  };
  return {Unary<ViewRequest>("/gpuscaler.v1.FleetViewer/View", view)};
}

}  // namespace gpuscaler
