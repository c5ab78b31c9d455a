#include "fleet/node_tracks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "fleet/membership.h"
#include "fleet/track.h"

namespace gpuscaler {
namespace {

// For so long a DaemonSet may have two pods on a node while it is upgraded: minReadySeconds is 30
// s.
constexpr absl::Duration kUpgrade = absl::Minutes(1);

// Of the past that is kept: a question comes later than its reading.
constexpr absl::Duration kMargin = absl::Seconds(10);

// Known, or never to be known where no kubelet is asked, is not unheard of; nor is it missed where
// nothing runs.
bool IsOwnerless(const NodeHistory& history) {
  const bool waits = history.Newest().attribution.state == Attribution::State::kUnknown &&
                     history.attributed == nullptr;
  return waits && std::ranges::any_of(history.Newest().gpus, &GpuSample::in_use);
}

}  // namespace

void NodeTracks::Heard(const std::string& address, AgentNews news, absl::Time now,
                       int64_t generation) {
  Voice& voice = voices_[address];
  if (voice.stream == 0) voice.stream = ++streams_;
  if (news.node.empty()) return;
  if (voice.node != news.node) {
    Part(address, generation);
    Leave(address, news, generation);
  }
  voice.node = news.node;
  voice.instance = news.instance;
  const Word word = WordOf(address, voice, news);
  if (word == Word::kPassedOver) {
    voice.passed_over = true;
    Meet(address, news.node, now, generation);
    return;
  }
  if (word == Word::kTakesOver) SayTwice(address, voice, news);
  if (voice.passed_over) {
    voice.owes_all = true;
    return;
  }
  Node& node = nodes_[voice.node];
  const bool is_news = !IsHeartbeat(address, voice, node, news, now);
  if (node.rival == address) node.rival = std::exchange(node.speaker, "");
  node.speaker = address;
  node.heard_at = news.heard_at;
  node.silence.clear();
  node.left_at = absl::InfiniteFuture();
  Continue(std::move(news), now, voice, node);
  if (is_news || index_.IsDue(voice.node, *node.history)) Changed(voice.node, generation);
}

void NodeTracks::Meet(const std::string& rival, const std::string& name, absl::Time now,
                      int64_t generation) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  const auto speaker = voices_.find(node.speaker);
  const bool same_agent =
      speaker == voices_.end() || speaker->second.instance == voices_.at(rival).instance;
  if (same_agent || node.rival == rival) return;
  if (node.rival.empty()) node.rival_since = now;
  node.rival = rival;
  Changed(name, generation);
}

void NodeTracks::Part(const std::string& address, int64_t generation) {
  const auto voice = voices_.find(address);
  const auto node = voice == voices_.end() ? nodes_.end() : nodes_.find(voice->second.node);
  if (node == nodes_.end() || node->second.rival.empty()) return;
  if (node->second.rival != address && node->second.speaker != address) return;
  node->second.rival.clear();
  Changed(node->first, generation);
}

NodeTracks::Word NodeTracks::WordOf(const std::string& address, const Voice& voice,
                                    const AgentNews& news) const {
  const auto node = nodes_.find(news.node);
  // A node without a reading is none: its agent says why it has not read anything yet.
  if (node == nodes_.end()) return news.readings.empty() ? Word::kPassedOver : Word::kCounts;
  const std::string& speaker = node->second.speaker;
  if (speaker == address || node->second.left_at != absl::InfiniteFuture()) return Word::kCounts;
  const auto other = voices_.find(speaker);
  if (other == voices_.end() || other->second.stream == 0) return Word::kCounts;
  const bool is_same_agent = other->second.instance == voice.instance;  // at two addresses
  if (is_same_agent || other->second.stream > voice.stream) return Word::kPassedOver;
  return Word::kTakesOver;
}

void NodeTracks::SayTwice(const std::string& address, Voice& voice, const AgentNews& news) const {
  const auto dropped = voice.lines.Pass(news.heard_at);
  if (!dropped) return;
  LogWarn("node_twice", {{"node", news.node},
                         {"address", address},
                         {"instead_of", nodes_.at(news.node).speaker},
                         {"dropped", *dropped}});
}

bool NodeTracks::IsHeartbeat(const std::string& address, const Voice& voice, const Node& node,
                             const AgentNews& news, absl::Time now) const {
  if (!news.readings.empty() || voice.tells_again || node.speaker != address) return false;
  return node.silence.empty() && now - node.heard_at <= kQuiet &&
         now - node.history->NewestAt() <= options_.limits.join_within;
}

void NodeTracks::Continue(AgentNews news, absl::Time now, Voice& voice, Node& node) const {
  const NodeHistory::Limits limits = LimitsOf(news.node, now);
  const bool more = news.more;
  node.retold_for = std::min(node.retold_for, limits.readings);
  if (!voice.tells_again || node.history == nullptr) {
    voice.tells_again = false;
    node.history = Continued(std::move(node.history), std::move(news), limits);
    return;
  }
  // What is kept goes on meanwhile, and for good if an agent that has just begun has less to tell.
  AgentNews after = NewsAfter(node.history->NewestAt(), news);
  node.history = Continued(std::move(node.history), std::move(after), limits);
  node.retold = Continued(std::move(node.retold), std::move(news), limits);
  if (more || node.retold == nullptr) return;
  const auto retold = std::exchange(node.retold, nullptr);
  if (retold->stretches.front().first < node.history->stretches.front().first) {
    node.history = retold;
  }
  voice.tells_again = false;
}

NodeHistory::Limits NodeTracks::LimitsOf(const std::string& node, absl::Time now) const {
  NodeHistory::Limits limits = options_.limits;
  if (options_.leases == nullptr) return limits;
  const std::set<std::string>* const namespaces = index_.NamespacesOn(node);
  const absl::Duration look_back = namespaces == nullptr
                                       ? options_.leases->LongestLookBack(now)
                                       : options_.leases->LookBack(*namespaces, now);
  // As Decide does, which looks back on a reading before the window for as long as one speaks.
  limits.readings = look_back + limits.join_within + kMargin;
  return limits;
}

void NodeTracks::Lost(const std::string& address, const absl::Status& why, int64_t generation) {
  Part(address, generation);
  Voice& voice = voices_[address];
  voice.stream = 0;
  // The next stream begins with all, or goes on from the newest reading.
  voice.passed_over = voice.owes_all = voice.tells_again = false;
  if (!Speaks(address)) return;
  Node& node = nodes_.at(voice.node);
  node.silence = std::string(why.message());
  node.retold = nullptr;
  Changed(voice.node, generation);
}

void NodeTracks::Leave(const std::string& address, const AgentNews& news, int64_t generation) {
  if (!Speaks(address)) return;
  Voice& voice = voices_.at(address);
  const std::string& name = voice.node;
  // An agent may go from name to name with each message.
  const auto dropped = voice.lines.Pass(news.heard_at);
  std::erase_if(nodes_, [&](const auto& each) {
    const auto& [other, left] = each;
    if (left.speaker != address || left.left_at == absl::InfiniteFuture()) return false;
    if (dropped) LogInfo("node_forgotten", {{"node", other}, {"why", left.silence}});
    Removed(other, generation);
    return true;
  });
  Node& node = nodes_.at(name);
  node.silence = absl::StrCat("its agent is of node ", news.node, " now");
  node.left_at = news.heard_at;
  node.retold = nullptr;
  if (dropped) {
    LogWarn("node_left",
            {{"node", name}, {"address", address}, {"why", node.silence}, {"dropped", *dropped}});
  }
  Changed(name, generation);
}

void NodeTracks::Forget(const std::string& address, int64_t generation) {
  Part(address, generation);
  if (Speaks(address)) {
    const std::string& name = voices_.at(address).node;
    Removed(name, generation);
    nodes_.erase(name);
    generation_ = generation;
  }
  voices_.erase(address);
}

void NodeTracks::ForgetNodesLeft(absl::Time now, int64_t generation) {
  for (auto each = nodes_.begin(); each != nodes_.end();) {
    const auto& [name, node] = *each;
    if (now - node.left_at < options_.forget_after) {
      ++each;
      continue;
    }
    LogInfo("node_forgotten", {{"node", name}, {"why", node.silence}});
    Removed(name, generation);
    each = nodes_.erase(each);
    generation_ = generation;
  }
}

void NodeTracks::Changed(const std::string& name, int64_t generation) {
  const NodeHistory& history = *nodes_.at(name).history;
  index_.Changed(name, history, generation);
  SetOwnerless(name, IsOwnerless(history), generation);
  generation_ = generation;
}

void NodeTracks::Removed(const std::string& name, int64_t generation) {
  index_.Removed(name, generation);
  SetOwnerless(name, false, generation);
}

void NodeTracks::SetOwnerless(const std::string& name, bool is, int64_t generation) {
  const bool changed = is ? ownerless_.insert(name).second : ownerless_.erase(name) > 0;
  if (changed) ownerless_generation_ = generation;
}

std::string NodeTracks::WhyOwnerless(const std::string& name) const {
  return absl::StrCat("who holds the GPUs of node ", name,
                      " is not known yet: ", nodes_.at(name).history->Newest().attribution.why);
}

std::vector<std::string> NodeTracks::LackingPast(absl::Time now) const {
  constexpr size_t kAtOnce = 20;  // of 1,000 nodes, whose agents then reconnect within a minute
  std::vector<std::string> lacking;
  for (const auto& [address, voice] : voices_) {
    if (voice.owes_all) lacking.push_back(address);
  }
  if (options_.leases == nullptr) return lacking;
  for (const auto& [name, node] : nodes_) {
    const absl::Duration wanted = LimitsOf(name, now).readings;
    if (node.history->forgotten_until <= now - wanted || node.retold_for >= wanted) continue;
    const auto voice = voices_.find(node.speaker);
    if (voice == voices_.end() || voice->second.node != name) continue;
    if (voice->second.stream == 0 || voice->second.tells_again) continue;
    if (lacking.size() >= kAtOnce) break;
    lacking.push_back(node.speaker);
  }
  return lacking;
}

void NodeTracks::TellsAgain(const std::string& address, absl::Time now) {
  const auto voice = voices_.find(address);
  if (voice == voices_.end()) return;
  voice->second.passed_over = voice->second.owes_all = false;
  if (!Speaks(address)) return;
  voice->second.tells_again = true;
  Node& node = nodes_.at(voice->second.node);
  node.retold = nullptr;
  node.retold_for = LimitsOf(voice->second.node, now).readings;
}

void NodeTracks::Add(const std::string& name, FleetHistory& fleet) const {
  const Node& node = nodes_.at(name);
  NodeTrack& track = fleet.nodes.emplace_back();
  track.node = name;
  track.history = node.history;
  track.heard_at = node.heard_at;
  track.silence = node.silence;
  AddRival(node, fleet);
  if (!node.silence.empty()) return;
  const absl::Time quiet_at = node.heard_at + kQuiet;
  if (fleet.now > quiet_at) {
    track.silence = "it has fallen silent";
  } else {
    fleet.stands_until = std::min(fleet.stands_until, quiet_at);
  }
}

void NodeTracks::AddRival(const Node& node, FleetHistory& fleet) const {
  if (node.rival.empty()) return;
  const absl::Time lasts_at = node.rival_since + kUpgrade;
  if (fleet.now > lasts_at) {
    fleet.nodes.back().twice =
        absl::StrCat(node.speaker, ", whose readings count, and ", node.rival);
  } else {
    fleet.stands_until = std::min(fleet.stands_until, lasts_at);
  }
}

void NodeTracks::AddOther(const std::string& name, FleetHistory& fleet) const {
  const auto& layout = nodes_.at(name).history->attributed;
  if (layout != nullptr) fleet.others.push_back(layout);
}

std::vector<std::string> NodeTracks::Names() const {
  std::vector<std::string> names;
  for (const auto& node : nodes_) names.push_back(node.first);
  return names;
}

absl::Time NodeTracks::NewestAt() const {
  absl::Time newest = absl::InfinitePast();
  for (const auto& node : nodes_) newest = std::max(newest, node.second.history->NewestAt());
  return newest;
}

absl::Time NodeTracks::NewestOf(const std::string& address) const {
  if (!Speaks(address)) return absl::InfinitePast();
  return nodes_.at(voices_.at(address).node).history->NewestAt();
}

std::string NodeTracks::SpeakerOf(const std::string& node) const {
  const std::string& speaker = nodes_.at(node).speaker;
  const auto voice = voices_.find(speaker);
  return voice != voices_.end() && voice->second.node == node ? speaker : "";
}

bool NodeTracks::IsSuperseded(const std::string& address) const {
  const auto voice = voices_.find(address);
  return voice != voices_.end() && nodes_.contains(voice->second.node) && !Speaks(address);
}

bool NodeTracks::Speaks(const std::string& address) const {
  const auto voice = voices_.find(address);
  if (voice == voices_.end()) return false;
  const auto node = nodes_.find(voice->second.node);
  return node != nodes_.end() && node->second.speaker == address;
}

}  // namespace gpuscaler
