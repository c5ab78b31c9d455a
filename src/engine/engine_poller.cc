#include "engine/engine_poller.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace gpuscaler {

// All readers of the server at one address. Each poll requests each path once for all of them.
//
// Triggers may name the engine, its path, or neither. Their readers try paths in their own order
// and interpret the response in their own way, but mostly need the same one. A request that only
// some readers need is sent as well. If the server times out, it does so for all readers.
class EnginePoller::Server : public PolledTarget {
 public:
  // At least one target, each at that server.
  Server(const EngineTargets& targets, const EngineReader::Sink& sink)
      : tenant_(targets.begin()->second.tenant), requests_(targets.size()) {
    for (const auto& [target, interest] : targets) readers_.emplace_back(target, sink);
  }

  bool HasExactly(const EngineTargets& targets) const {
    return std::ranges::equal(readers_, targets, {}, &EngineReader::target,
                              [](const auto& interest) { return interest.first; });
  }

  // Requires HasExactly(). Callable on any thread.
  void SetHistograms(const EngineTargets& targets) {
    auto reader = readers_.begin();
    for (const auto& [target, interest] : targets) (reader++)->SetHistograms(interest.histograms);
  }

  std::string Tenant() override { return tenant_; }

  ScrapeRequest FirstRequest() override {
    for (size_t i = 0; i < readers_.size(); ++i) requests_[i] = readers_[i].FirstRequest();
    return *Next();
  }

  std::optional<ScrapeRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) override {
    const bool hangs = absl::IsDeadlineExceeded(page.status());
    for (size_t i = 0; i < readers_.size(); ++i) {
      if (!requests_[i].has_value() || (!hangs && *requests_[i] != requested_)) continue;
      requests_[i] = readers_[i].Take(at, page);
    }
    return Next();
  }

 private:
  std::optional<ScrapeRequest> Next() {
    const auto next = std::ranges::find_if(
        requests_, [](const std::optional<ScrapeRequest>& request) { return request.has_value(); });
    if (next == requests_.end()) return std::nullopt;
    requested_ = **next;
    return requested_;
  }

  const std::string tenant_;
  std::deque<EngineReader> readers_;                    // in the order of the targets
  std::vector<std::optional<ScrapeRequest>> requests_;  // one per reader; empty: done for this poll
  ScrapeRequest requested_;                             // the newest
};

EnginePoller::EnginePoller(const Clock& clock, absl::Duration interval, EngineReader::Sink sink,
                           const FetchLimits& limits)
    : sink_(std::move(sink)), poller_("engines", clock, interval, limits) {}

void EnginePoller::Poll(const EngineTargets& targets) {
  std::map<ScrapeRequest, EngineTargets> wanted;
  for (const auto& [target, interest] : targets) {
    ScrapeRequest server = target.at;
    server.path.clear();
    wanted[server].emplace(target, interest);
  }
  MutexLock lock(mutex_);
  std::map<ScrapeRequest, std::shared_ptr<Server>> before = std::exchange(servers_, {});
  std::set<std::shared_ptr<PolledTarget>> polled;
  for (const auto& [address, targets_there] : wanted) {
    std::shared_ptr<Server> server = before[address];
    // Other targets get new readers: a response to the old ones may be in flight, and is theirs. A
    // new target is polled at once.
    if (server == nullptr || !server->HasExactly(targets_there)) {
      server = std::make_shared<Server>(targets_there, sink_);
    }
    server->SetHistograms(targets_there);
    polled.insert(server);
    servers_.emplace(address, std::move(server));
  }
  poller_.Poll(polled);
}

}  // namespace gpuscaler
