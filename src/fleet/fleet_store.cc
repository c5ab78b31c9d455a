#include "fleet/fleet_store.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {

FleetStore::FleetStore(const Clock& clock, const FleetStoreOptions& options)
    : clock_(clock),
      roll_(options.patience),
      tracks_({.limits = options.limits,
               .leases = options.leases,
               .forget_after = options.patience.forget_after}) {}

void FleetStore::Listed(const absl::StatusOr<std::vector<std::string>>& answer) {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  roll_.Listed(answer, now, Next());
  Forget(now);
  Settle();
}

void FleetStore::Heard(const std::string& address, AgentNews news) {
  MutexLock lock(mutex_);
  if (!roll_.Heard(address, news, Next())) return;
  tracks_.Heard(address, std::move(news), clock_.Now(), Next());
  Settle();
}

void FleetStore::Lost(const std::string& address, const absl::Status& why) {
  MutexLock lock(mutex_);
  if (!roll_.Lost(address, why)) return;
  tracks_.Lost(address, why, Next());
  Settle();
}

void FleetStore::Tick() {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  Forget(now);
  Settle();
}

void FleetStore::Forget(absl::Time now) {
  for (const std::string& address : roll_.Forget(now, Next())) tracks_.Forget(address, Next());
  tracks_.ForgetNodesLeft(now, Next());
}

void FleetStore::Settle() {
  const int64_t newest = std::max(roll_.generation(), tracks_.generation());
  if (newest == generation_) return;
  generation_ = newest;
  changed_.NotifyAll();
}

std::vector<std::string> FleetStore::LackingPast() const {
  MutexLock lock(mutex_);
  return tracks_.LackingPast(clock_.Now());
}

void FleetStore::TellsAgain(const std::string& address) {
  MutexLock lock(mutex_);
  tracks_.TellsAgain(address, clock_.Now());
}

int64_t FleetStore::watched_version() const {
  MutexLock lock(mutex_);
  return roll_.version();
}

std::vector<std::string> FleetStore::Watched() const {
  MutexLock lock(mutex_);
  std::vector<std::string> watched;
  for (const auto& agent : roll_.agents()) watched.push_back(agent.first);
  return watched;
}

absl::Status FleetStore::CheckReady(absl::Time now) const {
  if (absl::Status status = roll_.CheckReady(!tracks_.empty(), now); !status.ok()) return status;
  for (const std::string& node : tracks_.ownerless()) {
    const bool is_awaited = now < roll_.AwaitedUntil(tracks_.SpeakerOf(node));
    if (is_awaited) return absl::UnavailableError(tracks_.WhyOwnerless(node));
  }
  return absl::OkStatus();
}

std::shared_ptr<FleetHistory> FleetStore::NewHistory(int64_t generation, absl::Time now) const {
  auto fleet = std::make_shared<FleetHistory>();
  fleet->generation = generation;
  fleet->now = now;
  fleet->unheard = roll_.UnheardTexts(kUnheardNamed);
  fleet->unheard_count = roll_.unheard().size();
  fleet->none_listed = roll_.none_listed();
  fleet->asks_kubelets = tracks_.index().AnyAsksKubelet();
  return fleet;
}

absl::StatusOr<FleetStore::Fleet> FleetStore::Of(const PodsWanted& wanted) const {
  MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
  if (absl::Status status = CheckReady(now); !status.ok()) return status;
  const PodIndex::Nodes found = tracks_.index().Of(wanted);
  auto fleet = NewHistory(std::max(found.generation, roll_.generation()), now);
  for (const std::string& name : found.names) tracks_.Add(name, *fleet);
  for (const std::string& name : found.others) tracks_.AddOther(name, *fleet);
  return fleet;
}

absl::StatusOr<FleetStore::Fleet> FleetStore::All() const {
  MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
  if (absl::Status status = CheckReady(now); !status.ok()) return status;
  auto fleet = NewHistory(generation_, now);
  for (const std::string& name : tracks_.Names()) tracks_.Add(name, *fleet);
  return fleet;
}

absl::StatusOr<std::map<std::string, std::string>> FleetStore::SpeakersOf(
    const PodsWanted& wanted) const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  if (absl::Status status = CheckReady(now); !status.ok()) return status;
  std::map<std::string, std::string> speakers;
  for (const std::string& name : tracks_.index().Of(wanted).names) {
    speakers.emplace_hint(speakers.end(), name, tracks_.SpeakerOf(name));
  }
  return speakers;
}

absl::Status FleetStore::Check() const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  return CheckReady(now);
}

absl::Time FleetStore::NewestAt() const {
  MutexLock lock(mutex_);
  return tracks_.NewestAt();
}

FleetReader::Changes FleetStore::ChangedSince(int64_t generation) const {
  MutexLock lock(mutex_);
  return {.generation = generation_,
          .of_all = roll_.generation() > generation || tracks_.AllChangedSince(generation),
          .pods = tracks_.index().ChangedSince(generation)};
}

bool FleetStore::Knows(const PodsWanted& wanted) const {
  MutexLock lock(mutex_);
  return tracks_.index().Knows(wanted);
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
  for (const auto& [address, agent] : roll_.agents()) {
    all.push_back({.address = address,
                   .node = agent.node,
                   .version = agent.version,
                   .listed = roll_.IsListed(address),
                   .connected = agent.connected,
                   .superseded = tracks_.IsSuperseded(address),
                   .heard_at = agent.heard_at,
                   .read_at = tracks_.NewestOf(address),
                   .why = agent.connected ? agent.trouble : agent.lost});
  }
  return all;
}

FleetStore::Listing FleetStore::listing() const {
  MutexLock lock(mutex_);
  return {.error = roll_.error(), .forgotten = roll_.forgotten()};
}

}  // namespace gpuscaler
