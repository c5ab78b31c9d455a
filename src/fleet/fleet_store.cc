#include "fleet/fleet_store.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {

FleetStore::FleetStore(const Clock& clock, const FleetStoreOptions& options)
    : clock_(clock), registry_(options.timeouts), node_store_(options) {}

void FleetStore::Listed(const absl::StatusOr<std::vector<std::string>>& answer) {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  registry_.Listed(answer, now, NextGeneration());
  Forget(now);
  Publish();
}

void FleetStore::Received(const std::string& address, AgentUpdate update) {
  MutexLock lock(mutex_);
  if (!registry_.Received(address, update, NextGeneration())) return;
  node_store_.Received(address, std::move(update), clock_.Now(), NextGeneration());
  Publish();
}

void FleetStore::Lost(const std::string& address, const absl::Status& why) {
  MutexLock lock(mutex_);
  if (!registry_.Lost(address, why)) return;
  node_store_.Lost(address, why, NextGeneration());
  Publish();
}

void FleetStore::Tick() {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  Forget(now);
  node_store_.FindSharedPods(now);
  Publish();
}

void FleetStore::Forget(absl::Time now) {
  for (const std::string& address : registry_.Forget(now, NextGeneration()))
    node_store_.Forget(address, NextGeneration());
  node_store_.ForgetNodesLeft(now, NextGeneration());
}

void FleetStore::Publish() {
  const int64_t newest = std::max(registry_.generation(), node_store_.generation());
  if (newest == generation_) return;
  generation_ = newest;
  changed_.NotifyAll();
}

std::vector<std::string> FleetStore::AgentsToReplay() const {
  MutexLock lock(mutex_);
  return node_store_.AgentsToReplay(clock_.Now());
}

void FleetStore::BeginReplay(const std::string& address) {
  MutexLock lock(mutex_);
  node_store_.BeginReplay(address, clock_.Now());
}

std::map<std::string, std::shared_ptr<const NodeLayout>> FleetStore::TakeFormerLayouts() {
  MutexLock lock(mutex_);
  return node_store_.TakeFormerLayouts();
}

int64_t FleetStore::watched_version() const {
  MutexLock lock(mutex_);
  return registry_.version();
}

std::vector<std::string> FleetStore::Watched() const {
  MutexLock lock(mutex_);
  std::vector<std::string> watched;
  for (const auto& agent : registry_.agents()) watched.push_back(agent.first);
  return watched;
}

absl::Status FleetStore::CheckReady(absl::Time now) const {
  if (absl::Status status = registry_.CheckReady(!node_store_.empty(), now); !status.ok())
    return status;
  for (const std::string& node : node_store_.never_attributed()) {
    const bool is_awaited = now < registry_.AwaitedUntil(node_store_.ActiveAgentOf(node));
    if (is_awaited) return absl::UnavailableError(node_store_.WhyNeverAttributed(node));
  }
  return absl::OkStatus();
}

std::shared_ptr<FleetHistory> FleetStore::NewHistory(int64_t generation, absl::Time now) const {
  auto fleet = std::make_shared<FleetHistory>();
  fleet->generation = generation;
  fleet->now = now;
  fleet->unreached = registry_.UnreachedTexts(kUnreachedNamed);
  fleet->unreached_count = registry_.unreached().size();
  fleet->none_listed = registry_.none_listed();
  fleet->queries_kubelets = node_store_.index().AnyUsesKubelet();
  return fleet;
}

absl::StatusOr<FleetStore::FleetPtr> FleetStore::NodesFor(const PodInterest& wanted) const {
  MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
  if (absl::Status status = CheckReady(now); !status.ok()) return status;
  const PodIndex::Nodes found = node_store_.index().NodesOf(wanted);
  auto fleet = NewHistory(std::max(found.generation, registry_.generation()), now);
  for (const std::string& name : found.names) node_store_.Add(name, *fleet);
  for (const std::string& name : found.others) node_store_.AddOther(name, *fleet);
  return fleet;
}

absl::StatusOr<FleetStore::FleetPtr> FleetStore::AllNodes() const {
  MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
  if (absl::Status status = CheckReady(now); !status.ok()) return status;
  auto fleet = NewHistory(generation_, now);
  for (const std::string& name : node_store_.Names()) node_store_.Add(name, *fleet);
  return fleet;
}

absl::StatusOr<std::map<std::string, std::string>> FleetStore::ActiveAgents(
    const PodInterest& wanted) const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  if (absl::Status status = CheckReady(now); !status.ok()) return status;
  std::map<std::string, std::string> agents;
  for (const std::string& name : node_store_.index().NodesOf(wanted).names) {
    agents.emplace_hint(agents.end(), name, node_store_.ActiveAgentOf(name));
  }
  agents.merge(node_store_.AgentsWithRecordsIn(wanted.namespaces));
  for (auto& [name, address] : agents) {
    if (node_store_.IsDisputed(name, now)) address.clear();
  }
  return agents;
}

absl::Status FleetStore::Check() const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  return CheckReady(now);
}

absl::Time FleetStore::NewestAt() const {
  MutexLock lock(mutex_);
  return node_store_.NewestAt();
}

FleetReader::Changes FleetStore::ChangedSince(int64_t generation) const {
  MutexLock lock(mutex_);
  return {
      .generation = generation_,
      .affects_all = registry_.generation() > generation || node_store_.AllChangedSince(generation),
      .pods = node_store_.index().ChangedSince(generation)};
}

bool FleetStore::IsOwnerKnown(const PodInterest& wanted) const {
  MutexLock lock(mutex_);
  return node_store_.index().IsOwnerKnown(wanted);
}

int64_t FleetStore::WaitForGeneration(int64_t generation, absl::Duration timeout) const {
  const SteadyClock real;
  const absl::Time deadline = real.Now() + timeout;
  MutexLock lock(mutex_);
  while (!closed_ && generation_ <= generation && real.Now() < deadline) {
    changed_.WaitFor(mutex_, deadline - real.Now());
  }
  return generation_;
}

void FleetStore::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

std::vector<AgentStatus> FleetStore::Agents() const {
  MutexLock lock(mutex_);
  std::vector<AgentStatus> all;
  for (const auto& [address, agent] : registry_.agents()) {
    all.push_back({.address = address,
                   .node = agent.node,
                   .version = agent.version,
                   .listed = agent.IsListed(),
                   .connected = agent.connected,
                   .superseded = node_store_.IsSuperseded(address),
                   .received_at = agent.received_at,
                   .read_at = node_store_.NewestOf(address),
                   .why = agent.connected ? agent.reading_error : agent.stream_error});
  }
  return all;
}

FleetStore::Faults FleetStore::faults() const {
  MutexLock lock(mutex_);
  return {.lookup_error = registry_.error(),
          .forgotten = registry_.forgotten(),
          .disputed_nodes = node_store_.CountDisputed(clock_.Now()),
          .shared_pods = node_store_.shared_pods()};
}

}  // namespace gpuscaler
