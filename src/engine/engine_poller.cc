#include "engine/engine_poller.h"

#include <set>
#include <utility>

namespace gpuscaler {

EnginePoller::EnginePoller(const Clock& clock, absl::Duration interval, EngineReader::Sink sink,
                           const FetchLimits& limits)
    : sink_(std::move(sink)), poller_("engines", clock, interval, limits) {}

void EnginePoller::Poll(const std::map<EngineTarget, EngineWish>& targets) {
  MutexLock lock(mutex_);
  std::erase_if(readers_, [&](const auto& known) { return !targets.contains(known.first); });
  std::set<std::shared_ptr<PolledTarget>> polled;
  for (const auto& [target, wish] : targets) {
    std::shared_ptr<EngineReader>& reader = readers_[target];
    if (reader == nullptr) reader = std::make_shared<EngineReader>(target, sink_, wish.tenant);
    reader->WantHistograms(wish.histograms);
    polled.insert(reader);
  }
  poller_.Poll(polled);
}

}  // namespace gpuscaler
