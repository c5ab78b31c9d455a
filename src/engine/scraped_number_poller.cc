#include "engine/scraped_number_poller.h"

#include <set>
#include <utility>

namespace gpuscaler {

ScrapedNumberPoller::ScrapedNumberPoller(const Clock& clock, const Times& times,
                                         ScrapedNumbers::Sink sink, const FetchLimits& limits)
    : times_(times), sink_(std::move(sink)), poller_("pages", clock, times.interval, limits) {}

void ScrapedNumberPoller::Poll(const std::map<ScrapeRequest, NumbersInterest>& pages) {
  MutexLock lock(mutex_);
  std::erase_if(pages_, [&](const auto& entry) {
    if (pages.contains(entry.first)) return false;
    entry.second->SetInterest({});
    return true;
  });
  std::set<std::shared_ptr<PolledTarget>> polled;
  for (const auto& [request, interest] : pages) {
    std::shared_ptr<ScrapedNumbers>& page = pages_[request];
    if (page == nullptr) page = std::make_shared<ScrapedNumbers>(request, times_.max_gap, sink_);
    page->SetInterest(interest);
    polled.insert(page);
  }
  poller_.Poll(polled);
}

}  // namespace gpuscaler
