#include "engine/engine_poller.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace gpuscaler {

EnginePoller::EnginePoller(const Clock& clock, absl::Duration interval, EngineReader::Sink sink,
                           const FetchLimits& limits)
    : sink_(std::move(sink)), poller_("engines", clock, interval, limits) {}

EnginePoller::Server EnginePoller::Following(const std::map<EngineTarget, EngineInterest>& wanted,
                                             Server known) const {
  const bool is_same = std::ranges::equal(
      known.readers, wanted, {}, [](const auto& reader) { return reader.first; },
      [](const auto& interest) { return interest.first; });
  if (!is_same) {
    // All of them anew: a page of those that were may be on its way, and is still theirs. What is
    // new does not wait for its turn then.
    known = {};
    std::vector<std::shared_ptr<EngineReader>> readers;
    for (const auto& [target, interest] : wanted) {
      readers.push_back(std::make_shared<EngineReader>(target, sink_, interest.tenant));
      known.readers.emplace(target, readers.back());
    }
    known.polled = std::make_shared<SharedEngine>(std::move(readers));
  }
  for (const auto& [target, interest] : wanted) {
    known.readers.at(target)->WantHistograms(interest.histograms);
  }
  return known;
}

void EnginePoller::Poll(const std::map<EngineTarget, EngineInterest>& targets) {
  std::map<ScrapeRequest, std::map<EngineTarget, EngineInterest>> wanted;
  for (const auto& [target, interest] : targets) {
    ScrapeRequest server = target.at;
    server.path.clear();
    wanted[server].emplace(target, interest);
  }
  MutexLock lock(mutex_);
  std::map<ScrapeRequest, Server> before = std::exchange(servers_, {});
  std::set<std::shared_ptr<PolledTarget>> polled;
  for (const auto& [server, targets_there] : wanted) {
    const Server& followed = servers_[server] = Following(targets_there, std::move(before[server]));
    polled.insert(followed.polled);
  }
  poller_.Poll(polled);
}

}  // namespace gpuscaler
