#include "serve/profile_suggestion.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Several questions of the HPA, which asks every 15 s.
constexpr absl::Duration kLook = absl::Minutes(1);
constexpr absl::Duration kLongestPause = absl::Hours(1);

}  // namespace

std::optional<absl::Time> ProfileSuggestion::Look(absl::Time now) {
  MutexLock lock(mutex_);
  if (!IsDueLocked(now)) return std::nullopt;
  if (now < until_) return until_;
  until_ = now + kLook;
  next_ = until_ + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  return until_;
}

bool ProfileSuggestion::IsDue(absl::Time now) const {
  MutexLock lock(mutex_);
  return IsDueLocked(now);
}

bool ProfileSuggestion::IsDueLocked(absl::Time now) const {
  return suited_ == nullptr && (now < until_ || now >= next_);
}

bool ProfileSuggestion::Found(const SuitedProfile& suited) {
  MutexLock lock(mutex_);
  if (suited_ != nullptr) return false;
  suited_ = &suited;
  return true;
}

std::string ProfileSuggestion::Note() const {
  MutexLock lock(mutex_);
  if (suited_ == nullptr) return "";
  return absl::StrCat("engines of ", suited_->title,
                      " found in this workload's pods: ", AdviceText(*suited_));
}

}  // namespace gpuscaler
