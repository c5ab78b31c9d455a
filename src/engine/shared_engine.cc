#include "engine/shared_engine.h"

#include <algorithm>

namespace gpuscaler {

ScrapeRequest SharedEngine::First() {
  for (size_t i = 0; i < readers_.size(); ++i) asks_[i] = readers_[i]->First();
  return *Next();
}

std::optional<ScrapeRequest> SharedEngine::Take(absl::Time at, const absl::StatusOr<Page>& page) {
  const bool hangs = absl::IsDeadlineExceeded(page.status());
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (!asks_[i].has_value() || (!hangs && *asks_[i] != asked_)) continue;
    asks_[i] = readers_[i]->Take(at, page);
  }
  return Next();
}

std::optional<ScrapeRequest> SharedEngine::Next() {
  const auto next = std::ranges::find_if(
      asks_, [](const std::optional<ScrapeRequest>& ask) { return ask.has_value(); });
  if (next == asks_.end()) return std::nullopt;
  asked_ = **next;
  return asked_;
}

}  // namespace gpuscaler
