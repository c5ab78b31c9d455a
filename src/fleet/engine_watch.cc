#include "fleet/engine_watch.h"

#include <utility>

namespace gpuscaler {
namespace {

// How late a node's first pod, or a lost stream, may be noticed.
constexpr absl::Duration kLookAtFleet = absl::Seconds(1);

// What is wanted is told so often, for three times as long: an aggregator that is restarted finds
// that its agents have gone on reading.
constexpr absl::Duration kTellEvery = absl::Seconds(30);
constexpr absl::Duration kEnginesLease = absl::Seconds(90);

// With pods of these namespaces that hold GPUs.
std::set<std::string> NodesOf(const FleetReader& fleet, const EnginesWanted& wanted) {
  std::set<std::string> nodes;
  PodsWanted pods;
  for (const auto& [name, wish] : wanted.namespaces) pods.namespaces.push_back(name);
  const auto history = fleet.Of(pods);
  if (!history.ok()) return nodes;
  for (const NodeTrack& track : (*history)->nodes) nodes.insert(track.node);
  return nodes;
}

}  // namespace

EngineWatch::EngineWatch(const AgentStreamOptions& options, const Clock& clock,
                         const FleetStore& fleet, FoundEngines& found)
    : options_(options),
      clock_(clock),
      fleet_(fleet),
      found_(found),
      ticking_(
          std::make_unique<PeriodicThread>("agents engines", kLookAtFleet, [this] { Tick(); })) {}

EngineWatch::~EngineWatch() {
  ticking_ = nullptr;
  std::map<std::string, Stream> ended;  // destroyed without the lock
  MutexLock lock(mutex_);
  ended.swap(streams_);
  for (const auto& stream : ended) stream.second.agent->Stop();  // all, before any is waited for
}

void EngineWatch::Tick() {
  const absl::Time now = clock_.Now();
  if (!fleet_.Check().ok()) return;  // which nodes there are is not known yet
  const EnginesWanted wanted = found_.Wanted(now);
  std::set<std::string> nodes;
  if (!wanted.namespaces.empty()) nodes = NodesOf(fleet_, wanted);
  found_.Expect(wanted, nodes, now);
  const std::map<std::string, std::string> agents = AgentsOf(nodes);
  std::vector<std::shared_ptr<AgentEngines>> gone;  // destroyed without the lock
  std::vector<std::shared_ptr<AgentEngines>> all;
  {
    MutexLock lock(mutex_);
    for (auto each = streams_.begin(); each != streams_.end();) {
      const auto agent = agents.find(each->first);
      if (agent != agents.end() && agent->second == each->second.node) {
        ++each;
        continue;
      }
      ended_ += each->second.agent->counts();
      gone.push_back(std::move(each->second.agent));
      each = streams_.erase(each);
    }
    Follow(agents);
    Tell(wanted, now);
    for (const auto& [address, stream] : streams_) all.push_back(stream.agent);
  }
  for (const auto& agent : gone) agent->Stop();
  gone.clear();
  for (const auto& agent : all) agent->Tick();
}

std::map<std::string, std::string> EngineWatch::AgentsOf(const std::set<std::string>& nodes) const {
  std::map<std::string, std::string> agents;
  if (nodes.empty()) return agents;
  for (const AgentStatus& agent : fleet_.Agents()) {
    if (!agent.superseded && nodes.contains(agent.node)) agents[agent.address] = agent.node;
  }
  return agents;
}

void EngineWatch::Follow(const std::map<std::string, std::string>& agents) {
  for (const auto& [address, node] : agents) {
    Stream& stream = streams_[address];
    if (stream.agent != nullptr) continue;
    stream.node = node;
    stream.agent = std::make_shared<AgentEngines>(options_, address, node, clock_, found_);
  }
}

void EngineWatch::Tell(const EnginesWanted& wanted, absl::Time now) {
  for (auto& [address, stream] : streams_) {
    if (stream.wanted == wanted && now - stream.told_at < kTellEvery) continue;
    stream.agent->Want(wanted, kEnginesLease);
    stream.wanted = wanted;
    stream.told_at = now;
  }
}

EngineWatch::Counts EngineWatch::counts() const {
  MutexLock lock(mutex_);
  Counts counts{.total = ended_};
  for (const auto& [address, stream] : streams_) {
    counts.total += stream.agent->counts();
    counts.streams += stream.agent->is_open() ? 1 : 0;
  }
  return counts;
}

}  // namespace gpuscaler
