#include "fleet/agent_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "base/number_text.h"

namespace gpuscaler {
namespace {

// Two lookups (FleetWatchOptions): the next answer is due after one.
constexpr absl::Duration kAnswerValidFor = absl::Seconds(20);

}  // namespace

void AgentRegistry::Listed(const absl::StatusOr<std::vector<std::string>>& answer, absl::Time now,
                           int64_t generation) {
  LogAnswer(answer);
  error_ = std::string(answer.status().message());
  if (!answer.ok()) return;
  const std::vector<std::string> before = ListedAddresses();
  TakeAnswer(*answer, now);
  // An empty list changes with time alone.
  if (ListedAddresses() != before || answer->empty()) Changed(now, generation);
}

void AgentRegistry::TakeAnswer(const std::vector<std::string>& addresses, absl::Time now) {
  newest_answer_ = now;
  empty_since_ = addresses.empty() ? std::min(empty_since_, now) : absl::InfiniteFuture();
  for (auto& [address, agent] : agents_) agent.missing_since = std::min(agent.missing_since, now);
  if (!addresses.empty()) started_at_ = std::min(started_at_, now);
  for (const std::string& address : addresses) {
    const auto [entry, is_new] = agents_.try_emplace(address);
    if (is_new) ++version_;
    Agent& agent = entry->second;
    if (agent.IsForgotten()) agent.listed_since = now;
    agent.missing_since = absl::InfiniteFuture();
  }
  bool all_forgotten = true;
  for (auto& [address, agent] : agents_) {
    if (now - agent.missing_since >= timeouts_.forget_after)
      agent.listed_since = absl::InfinitePast();
    all_forgotten &= agent.IsForgotten();
  }
  if (all_forgotten) started_at_ = absl::InfiniteFuture();
}

std::vector<std::string> AgentRegistry::ListedAddresses() const {
  std::vector<std::string> listed;
  for (const auto& [address, agent] : agents_) {
    if (agent.IsListed()) listed.push_back(address);
  }
  return listed;
}

absl::Time AgentRegistry::AwaitedUntil(const std::string& address) const {
  const auto found = agents_.find(address);
  if (found == agents_.end()) return absl::InfinitePast();
  const absl::Time since = found->second.listed_since;
  return since - started_at_ <= timeouts_.grace ? since + timeouts_.empty_after
                                                : absl::InfinitePast();
}

bool AgentRegistry::IsEmpty(absl::Time now) const {
  return std::min(now, newest_answer_ + kAnswerValidFor) - empty_since_ >= timeouts_.empty_after;
}

void AgentRegistry::LogAnswer(const absl::StatusOr<std::vector<std::string>>& answer) const {
  if (!answer.ok()) {
    if (error_.empty()) LogWarn("agents_unknown", {{"why", answer.status().message()}});
    return;
  }
  const bool first = HasNoAnswer();
  const bool none_before = none_listed();
  const bool known_again = !error_.empty() || (!answer->empty() && !first && none_before);
  if (known_again) LogInfo("agents_known", {{"count", answer->size()}});
  if (answer->empty() && (first || !none_before)) LogWarn("no_agents_listed");
}

bool AgentRegistry::Received(const std::string& address, const AgentUpdate& update,
                             int64_t generation) {
  const auto found = agents_.find(address);
  if (found == agents_.end()) return false;
  Agent& agent = found->second;
  if (!std::exchange(agent.connected, true)) {
    LogInfo("agent_connected",
            {{"address", address}, {"node", update.node}, {"version", update.version}});
  }
  LogTrouble(address, update, agent);
  agent.received_at = update.received_at;
  agent.reading_error = update.trouble;
  agent.stream_error.clear();
  if (update.node.empty()) return true;  // its node is not known yet
  agent.node = update.node;
  agent.version = update.version;
  LogInterval(address, update, agent);
  if (!agent.ever_received && !update.more) {
    agent.ever_received = true;
    FirstReceived(address, generation);
  }
  return true;
}

void AgentRegistry::LogTrouble(const std::string& address, const AgentUpdate& update,
                               Agent& agent) {
  if (update.trouble.empty() == agent.reading_error.empty()) return;
  const auto dropped = agent.lines.Pass(update.received_at);
  if (!dropped) return;
  Log(update.trouble.empty() ? LogLevel::kInfo : LogLevel::kWarn, "agent_reading",
      {{"address", address},
       {"node", update.node},
       {"trouble", update.trouble},
       {"dropped", *dropped}});
}

// Once for each interval: the node is unreadable for a while before each reading.
void AgentRegistry::LogInterval(const std::string& address, const AgentUpdate& update,
                                Agent& agent) const {
  if (update.readings.empty()) return;
  const absl::Duration read_every = update.readings.back().snapshot.read_every;
  if (std::exchange(agent.read_every, read_every) == read_every) return;
  if (!IsReadTooSeldom(read_every, timeouts_.stale_after)) return;
  const auto dropped = agent.lines.Pass(update.received_at);
  if (!dropped) return;
  LogWarn("agent_interval_too_long",
          {{"address", address},
           {"node", update.node},
           {"read_every_seconds", absl::ToDoubleSeconds(read_every)},
           {"stale_after_seconds", absl::ToDoubleSeconds(timeouts_.stale_after)},
           {"what_to_do", "give the aggregators its --poll-interval, or a longer --stale-after"},
           {"dropped", *dropped}});
}

void AgentRegistry::FirstReceived(const std::string& address, int64_t generation) {
  const auto found = std::ranges::lower_bound(unreached_, address);
  if (found == unreached_.end() || *found != address) return;
  unreached_.erase(found);
  generation_ = generation;
}

bool AgentRegistry::Lost(const std::string& address, const absl::Status& why) {
  const auto found = agents_.find(address);
  if (found == agents_.end()) return false;
  Agent& agent = found->second;
  if (std::exchange(agent.connected, false) || agent.stream_error.empty()) {
    LogWarn("agent_lost", {{"address", address}, {"node", agent.node}, {"why", why.message()}});
  }
  agent.stream_error = std::string(why.message());
  return true;
}

std::vector<std::string> AgentRegistry::Forget(absl::Time now, int64_t generation) {
  std::vector<std::string> gone;
  for (const auto& [address, agent] : agents_) {
    const bool received = agent.connected || now - agent.received_at < timeouts_.forget_after;
    if (received || !agent.IsForgotten()) continue;
    LogInfo("agent_forgotten", {{"address", address}, {"node", agent.node}});
    gone.push_back(address);
  }
  for (const std::string& address : gone) agents_.erase(address);
  if (!gone.empty()) {
    forgotten_ += static_cast<int64_t>(gone.size());
    ++version_;
  }
  const auto is_missing = [&](const std::string& address) { return IsMissing(address, now); };
  if (!gone.empty() || !std::ranges::all_of(unreached_, is_missing)) Changed(now, generation);
  return gone;
}

void AgentRegistry::Changed(absl::Time now, int64_t generation) {
  unreached_.clear();
  for (const auto& [address, agent] : agents_) {
    if (!agent.ever_received && IsMissing(address, now)) unreached_.push_back(address);
  }
  generation_ = generation;
}

bool AgentRegistry::IsMissing(const std::string& address, absl::Time now) const {
  return agents_.at(address).IsListed() || now < AwaitedUntil(address);
}

absl::Status AgentRegistry::CheckReady(bool any_node, absl::Time now) const {
  const std::string dns = error_.empty() ? "" : absl::StrCat(": ", error_);
  if (HasNoAnswer()) {
    return absl::UnavailableError(absl::StrCat("the agents are not known yet", dns));
  }
  for (const std::string& address : unreached_) {
    const bool is_awaited =
        now < AwaitedUntil(address) || (!any_node && agents_.at(address).IsListed());
    if (is_awaited) return UnreachedStatus(address);
  }
  // An empty answer does not cover the time while DNS fails.
  const absl::Time known_at = error_.empty() ? now : newest_answer_;
  if (any_node || IsEmpty(known_at)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("no agent is listed, which means no GPU node after --empty-after=",
                   DurationText(timeouts_.empty_after), dns));
}

const std::string& AgentRegistry::WhyUnreached(const std::string& address) const {
  const Agent& agent = agents_.at(address);
  return agent.connected ? agent.reading_error : agent.stream_error;
}

std::vector<std::string> AgentRegistry::UnreachedTexts(size_t most) const {
  std::vector<std::string> texts;
  for (const std::string& address : unreached_) {
    if (texts.size() == most) break;
    const std::string& why = WhyUnreached(address);
    texts.push_back(why.empty() ? address : absl::StrCat(address, " (", why, ")"));
  }
  return texts;
}

absl::Status AgentRegistry::UnreachedStatus(const std::string& address) const {
  const std::string& why = WhyUnreached(address);
  return absl::UnavailableError(
      absl::StrCat("no report of ", CountText(static_cast<int64_t>(unreached_.size()), "agent"),
                   " yet, ", address, why.empty() ? "" : ": ", why));
}

}  // namespace gpuscaler
