#include "fleet/membership.h"

#include <algorithm>

namespace gpuscaler {

void Membership::Answered(const std::vector<std::string>& addresses, absl::Time now) {
  if (IsUnknown()) first_answer_ = now;
  newest_answer_ = now;
  empty_since_ = addresses.empty() ? std::min(empty_since_, now) : absl::InfiniteFuture();
  for (auto& [address, member] : members_)
    member.missing_since = std::min(member.missing_since, now);
  for (const std::string& address : addresses) members_[address] = {};
  std::erase_if(members_, [&](const auto& entry) {
    return now - entry.second.missing_since >= patience_.forget_after;
  });
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

std::optional<absl::Time> Membership::MissingSince(const std::string& address) const {
  const auto found = members_.find(address);
  if (found == members_.end() || found->second.missing_since == absl::InfiniteFuture()) {
    return std::nullopt;
  }
  return found->second.missing_since;
}

bool Membership::IsForgotten(const std::string& address) const {
  return !members_.contains(address);
}

bool Membership::IsEmpty() const { return newest_answer_ - empty_since_ >= patience_.empty_after; }

}  // namespace gpuscaler
