#include "fleet/engine_watch.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

// How late a node's first pod, or a lost stream, may be noticed.
constexpr absl::Duration kEngineTickInterval = absl::Seconds(1);

// Returns the active agents' addresses, by node, for nodes with pods of these namespaces that hold
// GPUs.
absl::StatusOr<std::map<std::string, std::string>> AgentsOf(const FleetStore& fleet,
                                                            const EngineSubscription& wanted) {
  if (wanted.namespaces.empty()) return std::map<std::string, std::string>();
  PodInterest pods;
  for (const auto& [name, interest] : wanted.namespaces) pods.namespaces.push_back(name);
  return fleet.ActiveAgents(pods);
}

}  // namespace

EngineWatch::EngineWatch(const AgentStreamOptions& options, const Clock& clock, EventLoop& loop,
                         const FleetStore& fleet, FoundEngines& found)
    : options_(options),
      clock_(clock),
      loop_(loop),
      fleet_(fleet),
      found_(found),
      tick_thread_(std::make_unique<PeriodicThread>("agents engines", kEngineTickInterval,
                                                    [this] { Tick(); })) {}

EngineWatch::~EngineWatch() {
  tick_thread_ = nullptr;
  Streams ended;  // destroyed without the lock
  MutexLock lock(mutex_);
  ended.swap(streams_);
  for (const auto& stream : ended) stream.second->Stop();  // all, before any is waited for
}

void EngineWatch::Tick() {
  const absl::Time now = clock_.Now();
  EngineSubscription wanted = found_.Subscription(now);
  if (subscription_ == nullptr || *subscription_ != wanted) {
    subscription_ = std::make_shared<const EngineSubscription>(std::move(wanted));
  }
  const auto agents = AgentsOf(fleet_, *subscription_);
  if (!agents.ok()) return;  // the nodes are not known yet
  std::set<std::string> nodes;
  std::map<std::string, std::string> node_of;  // key: address
  for (const auto& [node, address] : *agents) {
    nodes.insert(nodes.end(), node);
    if (!address.empty()) node_of[address] = node;
  }
  found_.SetNodes(*subscription_, nodes, now);
  for (const auto& [address, agent] : SyncStreams(node_of)) {
    agent->Subscribe(subscription_);
    agent->Tick();
  }
}

EngineWatch::Streams EngineWatch::SyncStreams(const std::map<std::string, std::string>& node_of) {
  std::vector<std::shared_ptr<AgentEngines>> gone;  // destroyed without the lock
  MutexLock lock(mutex_);
  for (auto each = streams_.begin(); each != streams_.end();) {
    const auto agent = node_of.find(each->first);
    if (agent != node_of.end() && agent->second == each->second->node()) {
      ++each;
      continue;
    }
    ended_ += each->second->counts();
    each->second->Stop();
    gone.push_back(std::move(each->second));
    each = streams_.erase(each);
  }
  for (const auto& [address, node] : node_of) {
    std::shared_ptr<AgentEngines>& stream = streams_[address];
    if (stream != nullptr) continue;
    stream = std::make_shared<AgentEngines>(options_, address, node, clock_, loop_, found_);
  }
  return streams_;
}

StreamCounts EngineWatch::counts() const {
  MutexLock lock(mutex_);
  StreamCounts counts = ended_;
  for (const auto& [address, stream] : streams_) counts += stream->counts();
  return counts;
}

int EngineWatch::open_streams() const {
  MutexLock lock(mutex_);
  return static_cast<int>(
      std::ranges::count_if(streams_, [](const auto& stream) { return stream.second->is_open(); }));
}

}  // namespace gpuscaler
