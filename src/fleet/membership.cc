#include "fleet/membership.h"

#include <algorithm>

namespace gpuscaler {
namespace {

// Two lookups (FleetWatchOptions): the next answer is due after one.
constexpr absl::Duration kAnswerValidFor = absl::Seconds(20);

}  // namespace

void Membership::Answered(const std::vector<std::string>& addresses, absl::Time now) {
  newest_answer_ = now;
  empty_since_ = addresses.empty() ? std::min(empty_since_, now) : absl::InfiniteFuture();
  for (auto& [address, member] : members_)
    member.missing_since = std::min(member.missing_since, now);
  if (!addresses.empty()) started_at_ = std::min(started_at_, now);
  for (const std::string& address : addresses) {
    Member& member = members_.try_emplace(address, Member{.listed_since = now}).first->second;
    member.missing_since = absl::InfiniteFuture();
  }
  std::erase_if(members_, [&](const auto& entry) {
    return now - entry.second.missing_since >= timeouts_.forget_after;
  });
  if (members_.empty()) started_at_ = absl::InfiniteFuture();
}

std::vector<std::string> Membership::Listed() const {
  std::vector<std::string> listed;
  for (const auto& [address, member] : members_) {
    if (member.missing_since == absl::InfiniteFuture()) listed.push_back(address);
  }
  return listed;
}

bool Membership::IsListed(const std::string& address) const {
  const auto found = members_.find(address);
  return found != members_.end() && found->second.missing_since == absl::InfiniteFuture();
}

absl::Time Membership::AwaitedUntil(const std::string& address) const {
  const auto found = members_.find(address);
  if (found == members_.end()) return absl::InfinitePast();
  const absl::Time since = found->second.listed_since;
  return since - started_at_ <= timeouts_.grace ? since + timeouts_.empty_after
                                                : absl::InfinitePast();
}

bool Membership::IsForgotten(const std::string& address) const {
  return !members_.contains(address);
}

bool Membership::IsEmpty(absl::Time now) const {
  return std::min(now, newest_answer_ + kAnswerValidFor) - empty_since_ >= timeouts_.empty_after;
}

}  // namespace gpuscaler
