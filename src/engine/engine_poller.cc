#include "engine/engine_poller.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace gpuscaler {

EnginePoller::EnginePoller(const Clock& clock, absl::Duration interval, EngineReader::Sink sink,
                           const FetchLimits& limits)
    : sink_(std::move(sink)), poller_("engines", clock, interval, limits) {}

EnginePoller::Server EnginePoller::ServerFor(const std::map<EngineTarget, EngineInterest>& wanted,
                                             Server current) const {
  const bool is_same = std::ranges::equal(
      current.readers, wanted, {}, [](const auto& reader) { return reader.first; },
      [](const auto& interest) { return interest.first; });
  if (!is_same) {
    // Replaces all readers: a response to the old ones may be in flight, and is theirs. A new
    // target is polled at once.
    current = {};
    std::vector<std::shared_ptr<EngineReader>> readers;
    for (const auto& [target, interest] : wanted) {
      readers.push_back(std::make_shared<EngineReader>(target, sink_, interest.tenant));
      current.readers.emplace(target, readers.back());
    }
    current.polled = std::make_shared<SharedEnginePoll>(std::move(readers));
  }
  for (const auto& [target, interest] : wanted) {
    current.readers.at(target)->SetHistograms(interest.histograms);
  }
  return current;
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
    const Server& state = servers_[server] = ServerFor(targets_there, std::move(before[server]));
    polled.insert(state.polled);
  }
  poller_.Poll(polled);
}

}  // namespace gpuscaler
