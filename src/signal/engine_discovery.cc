#include "signal/engine_discovery.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "page/cidr_block.h"
#include "signal/proc_file.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kSearchInterval = absl::Seconds(1);

// kthreadd: kernel threads are in the node's process list, and in no container's.
bool SeesProcessesOfNode(const NodeFolders& folders) {
  constexpr size_t kLongestName = 64;
  const auto name = ReadProcFile(absl::StrCat(folders.proc, "/2/comm"), kLongestName);
  return name.ok() && *name == "kthreadd\n";
}

void LogMissingRights(const EngineDiscovery::Options& options) {
  if (options.needs_pods_api) {
    LogInfo("engine_discovery", {{"by", "addresses of the kubelet's Pods API"}});
    return;
  }
  if (SeesProcessesOfNode(options.folders)) {
    LogInfo("engine_discovery", {{"by", "processes and addresses"}});
    return;
  }
  LogWarn(
      "engine_discovery_limited",
      {{"missing", "hostPID: the node's processes are not seen, nor on which ports they listen"},
       {"works",
        "pods with an address in the kubelet's Pods API, at the usual ports of "
        "engines"}});
}

// Without its Pods API a kubelet names no owner, so owners were derived from pod names.
bool LacksPodsApi(const NodeSnapshot& snapshot) {
  return !snapshot.pods.empty() && std::ranges::none_of(snapshot.pods, [](const Pod& pod) {
    return pod.owners_from == Pod::OwnersFrom::kReferences;
  });
}

std::set<std::string> NamesOf(const EngineSubscription& subscription) {
  std::set<std::string> names;
  for (const auto& [name, interest] : subscription.namespaces) names.insert(name);
  return names;
}

EngineTarget TargetAt(const EngineAddress& engine_address) {
  const IpAddress address = ParseIpAddress(engine_address.address).value_or(IpAddress());
  return {.at = {.server = {.host = engine_address.address,
                            .address = address,
                            .port = engine_address.port},
                 .path = ""}};
}

}  // namespace

EngineDiscovery::EngineDiscovery(Options options, const Clock& clock,
                                 const SnapshotStore& snapshots, EngineSubscriber& subscriber)
    : options_(std::move(options)),
      clock_(clock),
      snapshots_(snapshots),
      subscriber_(subscriber),
      search_(clock, options_.folders),
      ticking_("engine search", kSearchInterval, [this] { Tick(); }) {
  LogMissingRights(options_);
}

// The poller wakes the thread and the thread uses the poller, so the thread stops first.
EngineDiscovery::~EngineDiscovery() {
  ticking_.Stop(absl::InfiniteDuration());
  poller_.reset();
}

void EngineDiscovery::Tick() {
  EngineSubscription subscription = subscriber_.Subscription(clock_.Now());
  if (subscription.namespaces.empty()) {
    if (!subscription_.namespaces.empty()) Pause();
    return;
  }
  if (subscription_.namespaces.empty()) subscribed_since_ = clock_.Now();
  if (subscription != subscription_) searched_at_ = absl::InfinitePast();
  subscription_ = std::move(subscription);
  const absl::Status searched = Search();
  TakeUpdates();
  PollEngines();
  if (searched.ok()) return Publish();
  const bool is_final = absl::IsFailedPrecondition(searched) ||
                        clock_.Now() - subscribed_since_ >= kEngineListTimeout;
  if (!listed_.has_value() && is_final) DeliverList(searched);
}

void EngineDiscovery::Pause() {
  subscription_ = {};
  search_.Stop();
  listed_.reset();
  unreported_.clear();
  if (poller_ != nullptr) poller_->Poll({});
  MutexLock lock(mutex_);
  inbox_.clear();
  counts_.answering.clear();
}

absl::Status EngineDiscovery::Search() {
  const SnapshotStore::History history = snapshots_.Newest();
  if (history == nullptr) return absl::UnavailableError("its GPUs have not been read yet");
  const NodeSnapshot& snapshot = history->Newest();
  if (snapshot.attribution.state == Attribution::State::kNone) {
    return absl::FailedPreconditionError(
        "the holders of its GPUs are not read there (--attribution)");
  }
  // The pods of the last search stay.
  if (snapshot.attribution.state == Attribution::State::kUnknown) {
    return absl::UnavailableError(snapshot.attribution.why);
  }
  if (options_.needs_pods_api && LacksPodsApi(snapshot)) {
    return absl::FailedPreconditionError(
        "its kubelet has no Pods API (Kubernetes 1.37), so engines are not looked for: set "
        "--discover-engines=true (agent.discoverEngines=true), or name them with engineEndpoint");
  }
  const absl::Time now = clock_.Now();
  const bool is_due = now - searched_at_ >= kSearchInterval;
  if (history->generation == generation_ && !is_due) return absl::OkStatus();
  generation_ = history->generation;
  searched_at_ = now;
  search_.Update(snapshot, NamesOf(subscription_));
  return absl::OkStatus();
}

void EngineDiscovery::TakeUpdates() {
  std::map<EngineAddress, EngineUpdate> inbox;
  {
    MutexLock lock(mutex_);
    inbox.swap(inbox_);
  }
  int64_t read = 0;
  int64_t failed = 0;
  int64_t of_others = 0;
  for (auto& [engine_address, update] : inbox) {
    const bool is_read = update.reading.ok();
    if (!search_.Take(engine_address, update)) {
      ++of_others;
      continue;
    }
    ++(is_read ? read : failed);
    unreported_.insert_or_assign(engine_address, std::move(update));
  }
  MutexLock lock(mutex_);
  counts_.read += read;
  counts_.failed += failed;
  counts_.of_others += of_others;
  counts_.answering = search_.Answering();
}

void EngineDiscovery::PollEngines() {
  std::map<EngineTarget, EngineInterest> targets;
  std::map<EngineTarget, EngineAddress> engines;
  for (const EngineAddress& engine_address : search_.Targets()) {
    const auto interest = subscription_.namespaces.find(engine_address.namespace_name);
    const EngineTarget target = TargetAt(engine_address);
    targets[target].histograms =
        interest != subscription_.namespaces.end() && interest->second.histograms;
    engines[target] = engine_address;
  }
  {
    MutexLock lock(mutex_);
    polled_ = std::move(engines);
  }
  if (poller_ == nullptr && targets.empty()) return;
  if (poller_ == nullptr) {
    poller_ = std::make_unique<EnginePoller>(
        clock_, options_.interval, [this](const EngineTarget& target, const EngineUpdate& update) {
          Deliver(target, update);
        });
  }
  poller_->Poll(targets);
}

void EngineDiscovery::Deliver(const EngineTarget& target, const EngineUpdate& update) {
  {
    MutexLock lock(mutex_);
    const auto polled = polled_.find(target);
    if (polled == polled_.end()) return;
    inbox_.insert_or_assign(polled->second, update);
  }
  Wake();
}

void EngineDiscovery::Publish() {
  NodeEngines found = search_.Found();
  std::set<std::string> namespaces;
  std::set<EngineAddress> engines;
  for (const auto& [name, of] : found.namespaces) {
    namespaces.insert(name);
    engines.insert(of.engines.begin(), of.engines.end());
  }
  capacity_records_.SetEngines(namespaces, engines);
  for (const auto& record : capacity_records_.DepartedRecords(clock_.Now())) found.Add(record);
  if (!listed_.has_value() || !listed_->ok() || **listed_ != found) DeliverList(std::move(found));
  const SnapshotStore::History history = snapshots_.Newest();
  for (auto& [engine_address, update] : unreported_) {
    if (!engines.contains(engine_address)) continue;
    update.capacity_record =
        capacity_records_.AddReading(engine_address, update, history->Newest());
    subscriber_.AddReading(engine_address, update);
  }
  std::erase_if(unreported_, [&](const auto& each) { return engines.contains(each.first); });
}

void EngineDiscovery::DeliverList(absl::StatusOr<NodeEngines> found) {
  subscriber_.SetEngines(found, clock_.Now());
  listed_ = std::move(found);
}

EngineDiscovery::Counts EngineDiscovery::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

}  // namespace gpuscaler
