#include "engine/shared_engine_poll.h"

#include <algorithm>

namespace gpuscaler {

ScrapeRequest SharedEnginePoll::FirstRequest() {
  for (size_t i = 0; i < readers_.size(); ++i) requests_[i] = readers_[i]->FirstRequest();
  return *Next();
}

std::optional<ScrapeRequest> SharedEnginePoll::Take(absl::Time at,
                                                    const absl::StatusOr<Page>& page) {
  const bool hangs = absl::IsDeadlineExceeded(page.status());
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (!requests_[i].has_value() || (!hangs && *requests_[i] != requested_)) continue;
    requests_[i] = readers_[i]->Take(at, page);
  }
  return Next();
}

std::optional<ScrapeRequest> SharedEnginePoll::Next() {
  const auto next = std::ranges::find_if(
      requests_, [](const std::optional<ScrapeRequest>& request) { return request.has_value(); });
  if (next == requests_.end()) return std::nullopt;
  requested_ = **next;
  return requested_;
}

}  // namespace gpuscaler
