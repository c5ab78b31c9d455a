#include "serve/fleet_viewer.h"

#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "fleet/gpu_wire.h"
#include "fleet/telemetry_wire.h"
#include "fleetview.grpc.pb.h"
#include "rpc/grpc_status.h"
#include "scaling/pod_replicas.h"

namespace gpuscaler {
namespace {

using gpuscaler::v1::FleetView;
using gpuscaler::v1::ViewedAgent;
using gpuscaler::v1::ViewedNode;
using gpuscaler::v1::ViewRequest;

// Where one node's kubelet is asked, the others' GPUs count for nobody without theirs.
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
  node.set_silence(state.silence);
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

FleetView FleetViewOf(const absl::StatusOr<FleetReader::Fleet>& fleet,
                      const std::vector<AgentStatus>& agents, const StalenessLimits& staleness,
                      absl::Time now) {
  FleetView view;
  view.set_now_us(ToWire(now));
  if (fleet.ok()) {
    for (const NodeState& state : (*fleet)->nodes) {
      AddNode(state, WhyLeftOut(state, (*fleet)->asks_kubelets, staleness, now), now, view);
    }
  } else {
    view.set_trouble(std::string(fleet.status().message()));
  }
  for (const AgentStatus& agent : agents) AddAgent(agent, now, view);
  return view;
}

// "ipv4:127.0.0.1:40112", "ipv6:%5B::1%5D:40112", "unix:"; a socket that takes both of IPv4 and
// IPv6 has ::ffff:127.0.0.1 for the first.
bool IsOnThisHost(absl::string_view peer) {
  return absl::StartsWith(peer, "ipv4:127.0.0.1:") || absl::StartsWith(peer, "ipv6:%5B::1%5D:") ||
         absl::StartsWith(peer, "ipv6:[::1]:") ||
         absl::StartsWith(peer, "ipv6:%5B::ffff:127.0.0.1%5D:") || absl::StartsWith(peer, "unix:");
}

class FleetViewer::Impl : public gpuscaler::v1::FleetViewer::CallbackService {
 public:
  Impl(FleetViewerOptions options, const Clock& clock, const FleetReader& fleets)
      : options_(std::move(options)), clock_(clock), fleets_(fleets) {}

  grpc::ServerUnaryReactor* View(grpc::CallbackServerContext* context,
                                 const ViewRequest* /*request*/, FleetView* view) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    if (IsOnThisHost(context->peer())) {
      const bool has_agents = options_.agents != nullptr;
      const auto agents = has_agents ? options_.agents() : std::vector<AgentStatus>();
      *view = FleetViewOf(fleets_.All(), agents, options_.staleness, clock_.Now());
      view->set_version(options_.version);
      reactor->Finish(grpc::Status::OK);
    } else {
      reactor->Finish(ToGrpc(absl::PermissionDeniedError(
          "all namespaces are shown to clients on the scaler's own host alone: use kubectl exec or "
          "kubectl port-forward")));
    }
    return reactor;
  }

 private:
  const FleetViewerOptions options_;
  const Clock& clock_;
  const FleetReader& fleets_;
};

FleetViewer::FleetViewer(FleetViewerOptions options, const Clock& clock, const FleetReader& fleets)
    : impl_(std::make_unique<Impl>(std::move(options), clock, fleets)) {}
FleetViewer::~FleetViewer() = default;
grpc::Service* FleetViewer::Service() { return impl_.get(); }

}  // namespace gpuscaler
