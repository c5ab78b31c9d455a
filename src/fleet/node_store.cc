#include "fleet/node_store.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "fleet/append_update.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kSharedPodsInterval = absl::Seconds(5);

// Added to the history that is kept, because a decision comes later than its reading.
constexpr absl::Duration kMargin = absl::Seconds(10);

// Waits for the kubelet: attribution is kUnknown and was never known. A node without a kubelet
// (kNone) never waits, nor does a node with idle GPUs.
bool IsNeverAttributed(const NodeHistory& history) {
  const bool waits = history.Newest().attribution.state == Attribution::State::kUnknown &&
                     history.attributed == nullptr;
  return waits && std::ranges::any_of(history.Newest().gpus, &GpuSample::in_use);
}

// MIG instances change with the MIG mode; the physical GPU stays.
absl::string_view Physical(const GpuSample& gpu) {
  return gpu.parent_uuid.empty() ? gpu.uuid : gpu.parent_uuid;
}

bool IsOfOneMachine(const NodeSnapshot& a, const NodeSnapshot& b) {
  if (a.gpus.empty() || b.gpus.empty()) return a.gpus.empty() && b.gpus.empty();
  const std::set<absl::string_view> uuids = [&a] {
    std::set<absl::string_view> all;
    for (const GpuSample& gpu : a.gpus) all.insert(Physical(gpu));
    return all;
  }();
  return std::ranges::any_of(b.gpus,
                             [&](const GpuSample& gpu) { return uuids.contains(Physical(gpu)); });
}

}  // namespace

void NodeStore::Received(const std::string& address, AgentUpdate update, absl::Time now,
                         int64_t generation) {
  AgentSession& session = sessions_[address];
  session.is_connected = true;
  if (update.engine_namespaces) session.engine_namespaces = *std::move(update.engine_namespaces);
  if (update.node.empty()) return;
  if (session.node != update.node) {
    EndClaim(address, generation);
    Leave(address, update, generation);
  }
  session.node = update.node;
  session.instance = update.instance;
  if (!IsOwn(address, session) && !TakesOver(address, now, generation, update)) return;
  Node& node = nodes_[session.node];
  LogTakeover(address, update.received_at, node, session);
  const bool is_new = !IsHeartbeat(address, session, node, update, now);
  if (node.rival == address) node.rival.clear();
  node.active_agent = address;
  node.instance = session.instance;
  node.received_at = update.received_at;
  node.why_disconnected.clear();
  node.left_at = absl::InfiniteFuture();
  Continue(std::move(update), now, session, node);
  if (is_new || index_.IsDue(session.node, *node.history)) Changed(session.node, generation);
}

bool NodeStore::IsOwn(const std::string& address, const AgentSession& session) const {
  const auto node = nodes_.find(session.node);
  return node != nodes_.end() && node->second.active_agent == address &&
         node->second.instance == session.instance;
}

bool NodeStore::TakesOver(const std::string& address, absl::Time now, int64_t generation,
                          AgentUpdate& update) {
  AgentSession& session = sessions_.at(address);
  const auto found = nodes_.find(update.node);
  if (found != nodes_.end()) {
    Node& node = found->second;
    if (node.active_agent != address && !update.readings.empty()) {
      session.is_other_machine =
          !IsOfOneMachine(node.history->Newest(), update.readings.back().snapshot);
    }
    if (!MayReport(address, session, node, now)) {
      Claim(address, update, now, generation);
      return false;
    }
  }
  session.needs_replay = update.readings.empty() && update.newest_confirmed_at;
  if (found != nodes_.end()) {
    if (found->second.instance != update.instance) {
      session.former = found->second.history->attributed;
    }
    update.readings = ReadingsAfter(found->second.history->NewestAt(), update);
    found->second.replayed = nullptr;
  }
  if (update.readings.empty()) return false;
  update.readings.front().previous_confirmed_at.reset();
  return true;
}

void NodeStore::LogTakeover(const std::string& address, absl::Time at, const Node& node,
                            AgentSession& session) {
  if (node.history == nullptr || node.instance == session.instance) return;
  const auto dropped = session.lines.Pass(at);
  if (!dropped) return;
  const bool is_elsewhere = node.active_agent != address && session.is_other_machine;
  LogInfo("node_taken_over", {{"node", session.node},
                              {"former", node.active_agent},
                              {"by", address},
                              {"has_other_gpus", is_elsewhere},
                              {"dropped", *dropped}});
}

bool NodeStore::MayReport(const std::string& address, const AgentSession& session, const Node& node,
                          absl::Time now) const {
  const auto active_agent = sessions_.find(node.active_agent);
  const bool has_left = active_agent == sessions_.end() || node.left_at != absl::InfiniteFuture();
  if (node.active_agent == address || has_left) return true;
  const absl::Duration idle = now - node.received_at;
  if (active_agent->second.is_connected && idle <= kQuiet) return false;
  return !session.is_other_machine || idle > options_.timeouts.grace;
}

void NodeStore::Claim(const std::string& address, const AgentUpdate& update, absl::Time now,
                      int64_t generation) {
  AgentSession& session = sessions_.at(address);
  if (!session.is_other_machine) return EndClaim(address, generation);
  Node& node = nodes_.at(update.node);
  if (!node.rival.empty() || !sessions_.at(node.active_agent).is_connected) return;
  node.rival = address;
  node.rival_since = now;
  Changed(update.node, generation);
  const auto dropped = session.lines.Pass(update.received_at);
  if (!dropped) return;
  LogWarn("node_claimed_twice",
          {{"node", update.node},
           {"counts", node.active_agent},
           {"other", address},
           {"unreadable_after_seconds", absl::ToDoubleSeconds(options_.timeouts.grace)},
           {"dropped", *dropped}});
}

void NodeStore::EndClaim(const std::string& address, int64_t generation) {
  const auto session = sessions_.find(address);
  const auto node = session == sessions_.end() ? nodes_.end() : nodes_.find(session->second.node);
  if (node == nodes_.end() || node->second.rival != address) return;
  node->second.rival.clear();
  Changed(node->first, generation);
}

bool NodeStore::IsDisputed(const std::string& node, absl::Time now) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && IsDisputed(found->second, now);
}

int64_t NodeStore::CountDisputed(absl::Time now) const {
  return std::ranges::count_if(nodes_,
                               [&](const auto& each) { return IsDisputed(each.second, now); });
}

void NodeStore::FindSharedPods(absl::Time now) {
  if (now - shared_pods_found_at_ < kSharedPodsInterval) return;
  shared_pods_found_at_ = now;
  absl::flat_hash_map<absl::string_view, absl::string_view> node_of;  // key: UID
  std::set<std::string> shared;
  const std::vector<std::string> names = Names();
  for (const std::string& name : names) {
    const auto& attributed = nodes_.at(name).history->attributed;
    if (attributed == nullptr) continue;
    for (const Pod& pod : attributed->pods) {
      if (pod.uid.empty()) continue;
      const auto other = node_of.emplace(pod.uid, name).first;
      const bool is_new = other->second != name && shared.insert(pod.uid).second;
      if (!is_new || shared_pods_.contains(pod.uid)) continue;
      const auto dropped = shared_lines_.Pass(now);
      if (!dropped) continue;
      LogWarn("pod_on_two_nodes", {{"namespace", pod.namespace_name},
                                   {"pod", pod.name},
                                   {"uid", pod.uid},
                                   {"node", other->second},
                                   {"other_node", name},
                                   {"dropped", *dropped}});
    }
  }
  shared_pods_ = std::move(shared);
}

bool NodeStore::IsHeartbeat(const std::string& address, const AgentSession& session,
                            const Node& node, const AgentUpdate& update, absl::Time now) const {
  if (!update.readings.empty() || session.is_replaying || node.active_agent != address)
    return false;
  return node.why_disconnected.empty() && now - node.received_at <= kQuiet &&
         now - node.history->NewestAt() <= options_.limits.join_within;
}

void NodeStore::Continue(AgentUpdate update, absl::Time now, AgentSession& session,
                         Node& node) const {
  const NodeHistory::Limits limits = LimitsOf(update.node, now);
  const bool more = update.more;
  node.replayed_for = std::min(node.replayed_for, limits.readings);
  if (!session.is_replaying || node.history == nullptr) {
    session.is_replaying = false;
    node.history = AppendUpdate(std::move(node.history), std::move(update), limits);
    return;
  }
  // The kept history continues meanwhile, and stays if an agent that has just begun has less to
  // replay.
  AgentUpdate after{.readings = ReadingsAfter(node.history->NewestAt(), update),
                    .newest_confirmed_at = update.newest_confirmed_at};
  node.history = AppendUpdate(std::move(node.history), std::move(after), limits);
  node.replayed = AppendUpdate(std::move(node.replayed), std::move(update), limits);
  if (more || node.replayed == nullptr) return;
  const auto replayed = std::exchange(node.replayed, nullptr);
  if (replayed->runs.front().first < node.history->runs.front().first) {
    node.history = replayed;
  }
  session.is_replaying = false;
}

NodeHistory::Limits NodeStore::LimitsOf(const std::string& node, absl::Time now) const {
  NodeHistory::Limits limits = options_.limits;
  if (options_.leases == nullptr) return limits;
  const std::set<std::string>* const namespaces = index_.NamespacesOn(node);
  const absl::Duration look_back = namespaces == nullptr
                                       ? options_.leases->LongestLookBack(now)
                                       : options_.leases->LookBack(*namespaces, now);
  // Decide() also uses the reading before the window, up to the end of its validity (join_within).
  limits.readings = look_back + limits.join_within + kMargin;
  return limits;
}

void NodeStore::Lost(const std::string& address, const absl::Status& why, int64_t generation) {
  EndClaim(address, generation);
  AgentSession& session = sessions_[address];
  // The next stream begins with the whole history, or continues from the newest reading.
  session.is_connected = session.needs_replay = session.is_replaying = false;
  if (!IsActive(address)) return;
  Node& node = nodes_.at(session.node);
  node.why_disconnected = std::string(why.message());
  node.replayed = nullptr;
  Changed(session.node, generation);
}

void NodeStore::Leave(const std::string& address, const AgentUpdate& update, int64_t generation) {
  if (!IsActive(address)) return;
  AgentSession& session = sessions_.at(address);
  const std::string& name = session.node;
  // An agent may change its node with each message.
  const auto dropped = session.lines.Pass(update.received_at);
  absl::erase_if(nodes_, [&](const auto& each) {
    const auto& [other, left] = each;
    if (other == name || left.active_agent != address) return false;
    if (left.left_at == absl::InfiniteFuture()) return false;
    if (dropped) LogInfo("node_forgotten", {{"node", other}, {"why", left.why_disconnected}});
    Removed(other, generation);
    return true;
  });
  Node& node = nodes_.at(name);
  node.why_disconnected = absl::StrCat("its agent is of node ", update.node, " now");
  node.left_at = update.received_at;
  node.replayed = nullptr;
  if (dropped) {
    LogWarn("agent_node_changed", {{"node", name},
                                   {"address", address},
                                   {"why", node.why_disconnected},
                                   {"dropped", *dropped}});
  }
  Changed(name, generation);
}

void NodeStore::Forget(const std::string& address, int64_t generation) {
  EndClaim(address, generation);
  if (IsActive(address)) {
    const std::string& name = sessions_.at(address).node;
    Removed(name, generation);
    nodes_.erase(name);
  }
  sessions_.erase(address);
}

void NodeStore::ForgetNodesLeft(absl::Time now, int64_t generation) {
  for (auto each = nodes_.begin(); each != nodes_.end();) {
    const auto& [name, node] = *each;
    if (now - node.left_at < options_.timeouts.forget_after) {
      ++each;
      continue;
    }
    LogInfo("node_forgotten", {{"node", name}, {"why", node.why_disconnected}});
    Removed(name, generation);
    nodes_.erase(each++);
  }
}

void NodeStore::Changed(const std::string& name, int64_t generation) {
  const NodeHistory& history = *nodes_.at(name).history;
  index_.Changed(name, history, generation);
  SetNeverAttributed(name, IsNeverAttributed(history), generation);
  generation_ = generation;
}

void NodeStore::Removed(const std::string& name, int64_t generation) {
  index_.Removed(name, generation);
  SetNeverAttributed(name, false, generation);
  generation_ = generation;
}

void NodeStore::SetNeverAttributed(const std::string& name, bool is_waiting, int64_t generation) {
  const bool changed =
      is_waiting ? never_attributed_.insert(name).second : never_attributed_.erase(name) > 0;
  if (changed) never_attributed_generation_ = generation;
}

std::string NodeStore::WhyNeverAttributed(const std::string& name) const {
  return absl::StrCat("the holders of the GPUs of node ", name,
                      " are not known yet: ", nodes_.at(name).history->Newest().attribution.why);
}

std::vector<std::string> NodeStore::AgentsToReplay(absl::Time now) const {
  constexpr size_t kAtOnce = 20;  // 1,000 nodes then reconnect within a minute
  std::vector<std::string> agents;
  for (const auto& [address, session] : sessions_) {
    if (session.needs_replay) agents.push_back(address);
  }
  if (options_.leases == nullptr) return agents;
  for (const auto& [name, node] : nodes_) {
    const absl::Duration wanted = LimitsOf(name, now).readings;
    if (node.history->dropped_until <= now - wanted || node.replayed_for >= wanted) continue;
    const auto session = sessions_.find(node.active_agent);
    if (session == sessions_.end() || session->second.node != name) continue;
    if (!session->second.is_connected || session->second.is_replaying) continue;
    if (agents.size() >= kAtOnce) break;
    agents.push_back(node.active_agent);
  }
  return agents;
}

void NodeStore::BeginReplay(const std::string& address, absl::Time now) {
  const auto session = sessions_.find(address);
  if (session == sessions_.end()) return;
  session->second.needs_replay = false;
  if (!IsActive(address)) return;
  session->second.is_replaying = true;
  Node& node = nodes_.at(session->second.node);
  node.replayed = nullptr;
  node.replayed_for = LimitsOf(session->second.node, now).readings;
}

std::map<std::string, std::shared_ptr<const NodeLayout>> NodeStore::TakeFormerLayouts() {
  std::map<std::string, std::shared_ptr<const NodeLayout>> former;
  for (auto& [address, session] : sessions_) {
    if (session.former != nullptr) former[address] = std::exchange(session.former, nullptr);
  }
  return former;
}

void NodeStore::Add(const std::string& name, FleetHistory& fleet) const {
  const Node& node = nodes_.at(name);
  NodeState& state = fleet.nodes.emplace_back();
  state.node = name;
  state.history = node.history;
  state.received_at = node.received_at;
  state.why_disconnected = node.why_disconnected;
  AddRival(node, fleet);
  if (!node.why_disconnected.empty()) return;
  const absl::Time quiet_at = node.received_at + kQuiet;
  if (fleet.now > quiet_at) {
    state.why_disconnected = "it sends nothing";
  } else {
    fleet.valid_until = std::min(fleet.valid_until, quiet_at);
  }
}

void NodeStore::AddRival(const Node& node, FleetHistory& fleet) const {
  if (node.rival.empty()) return;
  const absl::Time disputed_at = node.rival_since + options_.timeouts.grace;
  if (IsDisputed(node, fleet.now)) {
    fleet.nodes.back().disputed = absl::StrCat(node.active_agent, " and ", node.rival);
  } else {
    fleet.valid_until = std::min(fleet.valid_until, disputed_at);
  }
}

void NodeStore::AddOther(const std::string& name, FleetHistory& fleet) const {
  const auto& layout = nodes_.at(name).history->attributed;
  if (layout != nullptr) fleet.others.push_back(layout);
}

std::vector<std::string> NodeStore::Names() const {
  std::vector<std::string> names;
  names.reserve(nodes_.size());
  for (const auto& node : nodes_) names.push_back(node.first);
  std::ranges::sort(names);
  return names;
}

absl::Time NodeStore::NewestAt() const {
  absl::Time newest = absl::InfinitePast();
  for (const auto& node : nodes_) newest = std::max(newest, node.second.history->NewestAt());
  return newest;
}

absl::Time NodeStore::NewestOf(const std::string& address) const {
  if (!IsActive(address)) return absl::InfinitePast();
  return nodes_.at(sessions_.at(address).node).history->NewestAt();
}

std::string NodeStore::ActiveAgentOf(const std::string& node) const {
  const std::string& active_agent = nodes_.at(node).active_agent;
  const auto session = sessions_.find(active_agent);
  return session != sessions_.end() && session->second.node == node ? active_agent : "";
}

std::map<std::string, std::string> NodeStore::AgentsWithRecordsIn(
    const std::vector<std::string>& namespaces) const {
  std::map<std::string, std::string> agents;
  for (const auto& each : sessions_) {
    const auto& [address, session] = each;
    const bool has_any = std::ranges::any_of(namespaces, [&each](const std::string& name) {
      return each.second.engine_namespaces.contains(name);
    });
    if (has_any && IsActive(address)) agents.emplace(session.node, address);
  }
  return agents;
}

bool NodeStore::IsSuperseded(const std::string& address) const {
  const auto session = sessions_.find(address);
  return session != sessions_.end() && nodes_.contains(session->second.node) && !IsActive(address);
}

bool NodeStore::IsActive(const std::string& address) const {
  const auto session = sessions_.find(address);
  if (session == sessions_.end()) return false;
  const auto node = nodes_.find(session->second.node);
  return node != nodes_.end() && node->second.active_agent == address;
}

}  // namespace gpuscaler
