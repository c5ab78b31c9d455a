#include "series/page_number_poller.h"

#include <set>
#include <utility>

namespace gpuscaler {

PageNumberPoller::PageNumberPoller(const Clock& clock, const Times& times, PageNumbers::Sink sink,
                                   const FetchLimits& limits)
    : times_(times), sink_(std::move(sink)), poller_("pages", clock, times.interval, limits) {}

void PageNumberPoller::Poll(const std::map<PageRequest, NumbersWish>& pages) {
  MutexLock lock(mutex_);
  std::erase_if(pages_, [&](const auto& known) {
    if (pages.contains(known.first)) return false;
    known.second->Want({});
    return true;
  });
  std::set<std::shared_ptr<PolledTarget>> polled;
  for (const auto& [request, wish] : pages) {
    std::shared_ptr<PageNumbers>& page = pages_[request];
    if (page == nullptr) page = std::make_shared<PageNumbers>(request, times_.longest_gap, sink_);
    page->Want(wish);
    polled.insert(page);
  }
  poller_.Poll(polled);
}

}  // namespace gpuscaler
