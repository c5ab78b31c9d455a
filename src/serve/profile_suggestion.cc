#include "serve/profile_suggestion.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Long enough for several requests of the HPA, which come every 15 s.
constexpr absl::Duration kSearchTime = absl::Minutes(1);
constexpr absl::Duration kLongestPause = absl::Hours(1);
// Engines are read once a second.
constexpr absl::Duration kSearchInterval = absl::Seconds(1);

}  // namespace

std::optional<absl::Time> ProfileSuggestion::Search(absl::Time now) {
  MutexLock lock(mutex_);
  if (!IsDueLocked(now)) return std::nullopt;
  searched_at_ = now;
  if (now < until_) return until_;
  until_ = now + kSearchTime;
  next_ = until_ + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  return until_;
}

bool ProfileSuggestion::IsDue(absl::Time now) const {
  MutexLock lock(mutex_);
  return IsDueLocked(now);
}

bool ProfileSuggestion::IsDueLocked(absl::Time now) const {
  return recommended_ == nullptr && now - searched_at_ >= kSearchInterval &&
         (now < until_ || now >= next_);
}

void ProfileSuggestion::Decided(const std::vector<Contribution>& replicas) {
  using enum Contribution::State;
  std::vector<size_t> names;
  for (const Contribution& replica : replicas) {
    const bool is_there =
        replica.state == kCounted || replica.state == kUnreadable || replica.state == kStarting;
    if (is_there) names.push_back(std::hash<std::string>()(replica.name));
  }
  std::ranges::sort(names);
  MutexLock lock(mutex_);
  const bool has_new = replicas_ && !std::ranges::includes(*replicas_, names);
  replicas_ = std::move(names);
  if (!has_new) return;
  next_ = until_;
  pause_ = kFirstPause;
}

bool ProfileSuggestion::Found(const RecommendedProfile& recommended) {
  MutexLock lock(mutex_);
  if (recommended_ != nullptr) return false;
  recommended_ = &recommended;
  return true;
}

std::string ProfileSuggestion::Note() const {
  MutexLock lock(mutex_);
  if (recommended_ == nullptr) return "";
  return absl::StrCat("engines of ", recommended_->title,
                      " found in this workload's pods: ", AdviceText(*recommended_));
}

}  // namespace gpuscaler
