#include "page/scrape_poller.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace gpuscaler {

ScrapePoller::ScrapePoller(const std::string& name, const Clock& clock, absl::Duration interval,
                           const FetchLimits& limits)
    : clock_(clock),
      schedule_(interval),
      fetcher_(name, limits),
      starting_(absl::StrCat(name, " due"), absl::Hours(1), [this] { StartDue(); }) {}

ScrapePoller::~ScrapePoller() = default;

void ScrapePoller::Poll(const std::set<std::shared_ptr<PolledTarget>>& targets) {
  {
    MutexLock lock(mutex_);
    std::erase_if(ids_, [&](const auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (targets.contains(entry.first)) return false;
      schedule_.Remove(entry.second);
      targets_.erase(entry.second);
      return true;
    });
    for (const std::shared_ptr<PolledTarget>& target : targets) {
      const auto [added, is_new] = ids_.try_emplace(target, next_id_);
      if (!is_new) continue;
      targets_.emplace(next_id_, target);
      schedule_.Add(next_id_++, real_.Now());
    }
  }
  starting_.Wake();
}

void ScrapePoller::StartDue() {
  std::vector<std::pair<PollSchedule::Id, std::shared_ptr<PolledTarget>>> due;
  absl::Time next;
  {
    MutexLock lock(mutex_);
    for (const PollSchedule::Id id : schedule_.Due(real_.Now())) {
      due.emplace_back(id, targets_.at(id));
    }
    next = schedule_.NextDue();
  }
  for (const auto& [id, target] : due) Fetch(id, target, target->FirstRequest());
  starting_.WakeIn(next - real_.Now());
}

void ScrapePoller::Fetch(PollSchedule::Id id, const std::shared_ptr<PolledTarget>& target,
                         ScrapeRequest request) {
  const auto take = [this, id, target](const absl::StatusOr<Page>& page) {
    std::optional<ScrapeRequest> more = target->Take(clock_.Now(), page);
    if (more.has_value()) {
      Fetch(id, target, *std::move(more));
      return;
    }
    MutexLock lock(mutex_);
    schedule_.Done(id, absl::IsDeadlineExceeded(page.status()));
  };
  fetcher_.Fetch(std::move(request), take, target->Tenant());
}

}  // namespace gpuscaler
