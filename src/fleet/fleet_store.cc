#include "fleet/fleet_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "base/number_text.h"
#include "fleet/track.h"

namespace gpuscaler {
namespace {

// Two heartbeats (telemetry_service.h) and a little: less than the shortest --stale-after, so that
// an agent that has just fallen silent is given grace before its readings are stale.
constexpr absl::Duration kQuiet = absl::Seconds(4);

// Of the past that is kept: a question comes later than its reading.
constexpr absl::Duration kMargin = absl::Seconds(10);

}  // namespace

FleetStore::FleetStore(const Clock& clock, const FleetStoreOptions& options)
    : clock_(clock),
      options_(options),
      membership_(options.patience),
      index_(options.limits.horizon) {}

void FleetStore::Listed(const absl::StatusOr<std::vector<std::string>>& answer) {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  const std::string error(answer.status().message());
  if (!error.empty() && dns_error_.empty()) LogWarn("agents_unknown", {{"why", error}});
  if (error.empty() && !dns_error_.empty()) LogInfo("agents_known", {{"count", answer->size()}});
  dns_error_ = error;
  if (!answer.ok()) return;
  const std::vector<std::string> before = membership_.Listed();
  const bool first = membership_.IsUnknown();
  if (answer->empty() && (first || !before.empty())) LogWarn("agents_none_listed");
  if (!answer->empty() && !first && before.empty()) {
    LogInfo("agents_known", {{"count", answer->size()}});
  }
  membership_.Answered(*answer, now);
  for (const std::string& address : *answer) {
    if (agents_.try_emplace(address).second) ++watched_version_;
  }
  Forget(now);
  // What time brings to an empty list is a change too.
  if (membership_.Listed() != before || answer->empty()) MembersChanged();
}

void FleetStore::Heard(const std::string& address, AgentNews news) {
  MutexLock lock(mutex_);
  const auto found = agents_.find(address);
  if (found == agents_.end()) return;  // forgotten a moment ago
  Agent& agent = found->second;
  Note(address, agent, news);
  if (news.node.empty()) return;
  if (!MaySpeak(address, agent, news)) {
    agent.passed_over = true;
    return;
  }
  if (agent.passed_over) {
    agent.owes_all = true;
    return;
  }
  Node& node = nodes_[news.node];
  const bool is_news = !IsHeartbeat(address, agent, node, news);
  node.speaker = address;
  node.heard_at = news.heard_at;
  node.silence.clear();
  node.left_at = absl::InfiniteFuture();
  Continue(std::move(news), agent, node);
  if (is_news || index_.IsDue(agent.node, *node.history)) NodeChanged(agent.node);
}

bool FleetStore::IsHeartbeat(const std::string& address, const Agent& agent, const Node& node,
                             const AgentNews& news) const {
  if (!news.readings.empty() || agent.tells_again || node.speaker != address) return false;
  const absl::Time now = clock_.Now();
  return node.silence.empty() && now - node.heard_at <= kQuiet &&
         now - node.history->NewestAt() <= options_.limits.join_within;
}

void FleetStore::Continue(AgentNews news, Agent& agent, Node& node) {
  const NodeHistory::Limits limits = LimitsOf(news.node);
  const bool more = news.more;
  node.retold_for = std::min(node.retold_for, limits.readings);
  if (!agent.tells_again || node.history == nullptr) {
    agent.tells_again = false;
    node.history = Continued(node.history, std::move(news), limits);
    return;
  }
  // What is kept goes on meanwhile, and for good if an agent that has just begun has less to tell.
  node.history = Continued(node.history, NewsAfter(node.history->NewestAt(), news), limits);
  node.retold = Continued(node.retold, std::move(news), limits);
  if (more || node.retold == nullptr) return;
  const auto retold = std::exchange(node.retold, nullptr);
  if (retold->stretches.front().first < node.history->stretches.front().first) {
    node.history = retold;
  }
  agent.tells_again = false;
}

std::vector<std::string> FleetStore::LackingPast() const {
  constexpr size_t kAtOnce = 20;  // of 1,000 nodes, whose agents then reconnect within a minute
  std::vector<std::string> lacking;
  MutexLock lock(mutex_);
  for (const auto& [address, agent] : agents_) {
    if (agent.owes_all) lacking.push_back(address);
  }
  if (options_.leases == nullptr) return lacking;
  const absl::Time now = clock_.Now();
  for (const auto& [name, node] : nodes_) {
    const absl::Duration wanted = LimitsOf(name).readings;
    if (node.history->forgotten_until <= now - wanted || node.retold_for >= wanted) continue;
    const auto agent = agents_.find(node.speaker);
    if (agent == agents_.end() || agent->second.node != name) continue;
    if (!agent->second.connected || agent->second.tells_again) continue;
    if (lacking.size() >= kAtOnce) break;
    lacking.push_back(node.speaker);
  }
  return lacking;
}

void FleetStore::TellsAgain(const std::string& address) {
  MutexLock lock(mutex_);
  const auto agent = agents_.find(address);
  if (agent == agents_.end()) return;
  agent->second.passed_over = agent->second.owes_all = false;
  const auto node = nodes_.find(agent->second.node);
  if (node == nodes_.end() || node->second.speaker != address) return;
  agent->second.tells_again = true;
  node->second.retold = nullptr;
  node->second.retold_for = LimitsOf(node->first).readings;
}

NodeHistory::Limits FleetStore::LimitsOf(const std::string& node) const {
  NodeHistory::Limits limits = options_.limits;
  if (options_.leases == nullptr) return limits;
  const absl::Time now = clock_.Now();
  const std::set<std::string>* const namespaces = index_.NamespacesOn(node);
  const absl::Duration look_back = namespaces == nullptr
                                       ? options_.leases->LongestLookBack(now)
                                       : options_.leases->LookBack(*namespaces, now);
  // As Decide does, which looks back on a reading before the window for as long as one speaks.
  limits.readings = look_back + limits.join_within + kMargin;
  return limits;
}

void FleetStore::Note(const std::string& address, Agent& agent, const AgentNews& news) {
  if (!agent.connected) {
    agent.connected = true;
    agent.connection = ++connections_;
    LogInfo("agent_heard", {{"address", address}, {"node", news.node}, {"version", news.version}});
  }
  if (news.trouble.empty() != agent.trouble.empty()) {
    Log(news.trouble.empty() ? LogLevel::kInfo : LogLevel::kWarn, "agent_reading",
        {{"address", address}, {"node", news.node}, {"trouble", news.trouble}});
  }
  agent.heard_at = news.heard_at;
  agent.trouble = news.trouble;
  agent.lost.clear();
  if (news.node.empty()) return;  // it does not know yet whose agent it is
  if (agent.node != news.node) Leave(address, agent.node, news);
  agent.node = news.node;
  agent.instance = news.instance;
  agent.version = news.version;
  if (agent.ever_heard || news.more) return;
  agent.ever_heard = true;
  FirstHeard(address);
}

void FleetStore::FirstHeard(const std::string& address) {
  const auto found = std::ranges::lower_bound(unheard_, address);
  if (found == unheard_.end() || *found != address) return;
  unheard_.erase(found);
  members_changed_ = ++generation_;
  changed_.NotifyAll();
}

bool FleetStore::MaySpeak(const std::string& address, const Agent& agent, const AgentNews& news) {
  const auto node = nodes_.find(news.node);
  // A node without a reading is none: its agent says why it has not read anything yet.
  if (node == nodes_.end()) return !news.readings.empty();
  const std::string& speaker = node->second.speaker;
  if (speaker == address || node->second.left_at != absl::InfiniteFuture()) return true;
  const auto other = agents_.find(speaker);
  if (other == agents_.end() || !other->second.connected) return true;
  if (other->second.instance == agent.instance) return false;  // two addresses of one agent
  if (other->second.connection > agent.connection) return false;
  LogWarn("node_twice", {{"node", news.node}, {"address", address}, {"instead_of", speaker}});
  return true;
}

void FleetStore::Lost(const std::string& address, const absl::Status& why) {
  MutexLock lock(mutex_);
  const auto found = agents_.find(address);
  if (found == agents_.end()) return;
  Agent& agent = found->second;
  if (std::exchange(agent.connected, false) || agent.lost.empty()) {
    LogWarn("agent_lost", {{"address", address}, {"node", agent.node}, {"why", why.message()}});
  }
  agent.lost = std::string(why.message());
  agent.passed_over = agent.owes_all = false;  // the next stream begins with all
  agent.tells_again = false;
  const auto node = nodes_.find(agent.node);
  if (node == nodes_.end() || node->second.speaker != address) return;
  node->second.silence = agent.lost;
  node->second.retold = nullptr;  // the next stream goes on from the newest reading
  NodeChanged(agent.node);
}

void FleetStore::Tick() {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  Forget(now);
}

// An agent that is still heard is there, whatever DNS says.
void FleetStore::Forget(absl::Time now) {
  for (auto each = agents_.begin(); each != agents_.end();) {
    const auto& [address, agent] = *each;
    const bool heard = agent.connected || now - agent.heard_at < options_.patience.forget_after;
    if (heard || !membership_.IsForgotten(address)) {
      ++each;
      continue;
    }
    LogInfo("agent_forgotten", {{"address", address}, {"node", agent.node}});
    Remove(address, agent.node);
    ++forgotten_;
    each = agents_.erase(each);
    ++watched_version_;
    MembersChanged();
  }
  ForgetNodesLeft(now);
}

// Their agents, if there are any, are not to be found where they were: as if DNS did not list them.
void FleetStore::ForgetNodesLeft(absl::Time now) {
  for (auto each = nodes_.begin(); each != nodes_.end();) {
    const auto& [name, node] = *each;
    if (now - node.left_at < options_.patience.forget_after) {
      ++each;
      continue;
    }
    LogInfo("node_forgotten", {{"node", name}, {"why", node.silence}});
    index_.Removed(name, ++generation_);
    each = nodes_.erase(each);
    changed_.NotifyAll();
  }
}

void FleetStore::Leave(const std::string& address, const std::string& name, const AgentNews& news) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end() || node->second.speaker != address) return;
  node->second.silence = absl::StrCat("its agent is of node ", news.node, " now");
  node->second.left_at = news.heard_at;
  node->second.retold = nullptr;
  LogWarn("node_left", {{"node", name}, {"address", address}, {"why", node->second.silence}});
  NodeChanged(name);
}

void FleetStore::Remove(const std::string& address, const std::string& name) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end() || node->second.speaker != address) return;
  index_.Removed(name, ++generation_);
  nodes_.erase(node);
}

void FleetStore::NodeChanged(const std::string& name) {
  index_.Changed(name, *nodes_.at(name).history, ++generation_);
  changed_.NotifyAll();
}

void FleetStore::MembersChanged() {
  unheard_.clear();
  for (const auto& [address, agent] : agents_) {
    if (!agent.ever_heard && membership_.IsListed(address)) unheard_.push_back(address);
  }
  members_changed_ = ++generation_;
  changed_.NotifyAll();
}

int64_t FleetStore::watched_version() const {
  MutexLock lock(mutex_);
  return watched_version_;
}

std::vector<std::string> FleetStore::Watched() const {
  MutexLock lock(mutex_);
  std::vector<std::string> watched;
  for (const auto& agent : agents_) watched.push_back(agent.first);
  return watched;
}

absl::Status FleetStore::CheckReady(absl::Time now) const {
  const std::string dns = dns_error_.empty() ? "" : absl::StrCat(": ", dns_error_);
  if (membership_.IsUnknown()) {
    return absl::UnavailableError(absl::StrCat("the agents are not known yet", dns));
  }
  for (const std::string& address : unheard_) {
    const bool is_awaited = nodes_.empty() || now < membership_.AwaitedUntil(address);
    if (is_awaited) return UnheardStatus(address);
  }
  // While DNS fails, an empty answer says nothing of the time behind it.
  const absl::Time known_at = dns_error_.empty() ? now : membership_.newest_answer();
  if (!nodes_.empty() || membership_.IsEmpty(known_at)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("no agent is listed, which stands for no GPU node after --empty-after=",
                   DurationText(options_.patience.empty_after), dns));
}

absl::Status FleetStore::UnheardStatus(const std::string& address) const {
  const Agent& agent = agents_.at(address);
  const std::string& why = agent.connected ? agent.trouble : agent.lost;
  return absl::UnavailableError(
      absl::StrCat("not heard of ", CountText(static_cast<int64_t>(unheard_.size()), "agent"),
                   " yet, ", address, why.empty() ? "" : ": ", why));
}

std::shared_ptr<FleetHistory> FleetStore::NewHistory(int64_t generation, absl::Time now) const {
  auto fleet = std::make_shared<FleetHistory>();
  fleet->generation = generation;
  fleet->now = now;
  fleet->unheard = unheard_;
  fleet->asks_kubelets = index_.AnyAsksKubelet();
  return fleet;
}

void FleetStore::AddTrack(const std::string& name, const Node& node, FleetHistory& fleet) const {
  fleet.nodes.push_back(
      {.node = name, .history = node.history, .heard_at = node.heard_at, .silence = node.silence});
  if (!node.silence.empty()) return;
  const absl::Time quiet_at = node.heard_at + kQuiet;
  if (fleet.now > quiet_at) {
    fleet.nodes.back().silence = "it has fallen silent";
  } else {
    fleet.stands_until = std::min(fleet.stands_until, quiet_at);
  }
}

absl::StatusOr<FleetStore::Fleet> FleetStore::Of(const PodsWanted& wanted) const {
  MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
  if (absl::Status status = CheckReady(now); !status.ok()) return status;
  const PodIndex::Nodes found = index_.Of(wanted);
  auto fleet = NewHistory(std::max(found.generation, members_changed_), now);
  for (const std::string& name : found.names) AddTrack(name, nodes_.at(name), *fleet);
  return fleet;
}

absl::StatusOr<FleetStore::Fleet> FleetStore::All() const {
  MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
  if (absl::Status status = CheckReady(now); !status.ok()) return status;
  auto fleet = NewHistory(generation_, now);
  for (const auto& [name, node] : nodes_) AddTrack(name, node, *fleet);
  return fleet;
}

absl::Status FleetStore::Check() const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  return CheckReady(now);
}

absl::Time FleetStore::NewestAt() const {
  MutexLock lock(mutex_);
  absl::Time newest = absl::InfinitePast();
  for (const auto& node : nodes_) newest = std::max(newest, node.second.history->NewestAt());
  return newest;
}

FleetReader::Changes FleetStore::ChangedSince(int64_t generation) const {
  MutexLock lock(mutex_);
  return {.generation = generation_,
          .of_all = members_changed_ > generation || index_.AllChangedSince(generation),
          .pods = index_.ChangedSince(generation)};
}

bool FleetStore::Knows(const PodsWanted& wanted) const {
  MutexLock lock(mutex_);
  return index_.Knows(wanted);
}

int64_t FleetStore::WaitForGeneration(int64_t generation, absl::Duration timeout) const {
  const SteadyClock real;
  const absl::Time deadline = real.Now() + timeout;
  MutexLock lock(mutex_);
  while (!closed_ && generation_ <= generation && real.Now() < deadline) {
    changed_.WaitFor(mutex_, deadline - real.Now());
  }
  return generation_;
}

void FleetStore::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

std::vector<AgentStatus> FleetStore::Agents() const {
  MutexLock lock(mutex_);
  std::vector<AgentStatus> all;
  for (const auto& [address, agent] : agents_) {
    const auto node = nodes_.find(agent.node);
    const bool speaks = node != nodes_.end() && node->second.speaker == address;
    all.push_back({.address = address,
                   .node = agent.node,
                   .version = agent.version,
                   .listed = membership_.IsListed(address),
                   .connected = agent.connected,
                   .superseded = node != nodes_.end() && !speaks,
                   .heard_at = agent.heard_at,
                   .read_at = speaks ? node->second.history->NewestAt() : absl::InfinitePast(),
                   .why = agent.connected ? agent.trouble : agent.lost});
  }
  return all;
}

FleetStore::Listing FleetStore::listing() const {
  MutexLock lock(mutex_);
  return {.error = dns_error_, .forgotten = forgotten_};
}

}  // namespace gpuscaler
