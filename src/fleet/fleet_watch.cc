#include "fleet/fleet_watch.h"

#include <set>
#include <utility>

namespace gpuscaler {
namespace {

// A stream is begun, or cancelled as idle, this late at most.
constexpr absl::Duration kTickInterval = absl::Milliseconds(100);
constexpr absl::Duration kStoreTickInterval = absl::Seconds(1);

// Streams that replay their history at one time. Each takes about a millisecond of the streams'
// thread, so these keep it busy until the next tick. The replays of all agents at once would delay
// every query.
constexpr size_t kMaxReplaysAtOnce = 128;

}  // namespace

FleetWatch::FleetWatch(const FleetWatchOptions& options, const Clock& clock, EventLoop& loop,
                       FleetStore& store)
    : options_(options),
      clock_(clock),
      loop_(loop),
      store_(store),
      addresses_(
          options.agents, [&store](const PeerAddresses::Answer& answer) { store.Listed(answer); },
          options.resolve_interval, options.resolver),
      tick_thread_(std::make_unique<PeriodicThread>("agents", kTickInterval, [this] { Tick(); })) {}

FleetWatch::~FleetWatch() {
  tick_thread_ = nullptr;
  std::map<std::string, std::shared_ptr<AgentStream>> ended;  // destroyed without the lock
  MutexLock lock(mutex_);
  ended.swap(streams_);
  for (const auto& stream : ended) stream.second->Stop();  // all, before any is waited for
}

void FleetWatch::Received(const std::string& address, AgentUpdate update) {
  store_.Received(address, std::move(update));
}

// A lost agent may have a new address, so its name is resolved again.
void FleetWatch::Lost(const std::string& address, const absl::Status& why) {
  store_.Lost(address, why);
  addresses_.ResolveSoon();
}

void FleetWatch::Tick() {
  const absl::Time now = clock_.Now();
  SyncStreams(now);
  std::vector<std::shared_ptr<AgentStream>> streams;
  {
    MutexLock lock(mutex_);
    streams.reserve(streams_.size());
    for (const auto& stream : streams_) streams.push_back(stream.second);
  }
  size_t catching_up = 0;
  for (const auto& stream : streams) catching_up += stream->IsCatchingUp() ? 1 : 0;
  for (const auto& stream : streams) {
    catching_up += stream->Tick(catching_up < kMaxReplaysAtOnce) ? 1 : 0;
  }
  streams.clear();
  if (now - ticked_at_ < kStoreTickInterval) return;
  ticked_at_ = now;
  store_.Tick();
  SendFormerPods();
  RestartForReplay();
}

void FleetWatch::SyncStreams(absl::Time now) {
  const int64_t version = store_.watched_version();
  if (version == synced_version_) return;
  synced_version_ = version;
  const std::vector<std::string> watched = store_.Watched();
  const std::set<std::string> wanted(watched.begin(), watched.end());
  std::vector<std::shared_ptr<AgentStream>> gone;  // destroyed without the lock
  MutexLock lock(mutex_);
  for (auto each = streams_.begin(); each != streams_.end();) {
    if (wanted.contains(each->first)) {
      ++each;
      continue;
    }
    gone.push_back(std::move(each->second));
    each = streams_.erase(each);
  }
  for (const std::string& address : watched) {
    auto& stream = streams_[address];
    if (stream != nullptr) continue;
    stream = std::make_shared<AgentStream>(options_.stream, address, clock_, loop_, *this);
    if (subscribed_until_ > now) stream->Subscribe(subscription_, subscribed_until_ - now);
  }
}

void FleetWatch::RestartForReplay() {
  const std::vector<std::string> addresses = store_.AgentsToReplay();
  std::vector<std::shared_ptr<AgentStream>> streams;
  {
    MutexLock lock(mutex_);
    for (const std::string& address : addresses) {
      const auto found = streams_.find(address);
      if (found != streams_.end()) streams.push_back(found->second);
    }
  }
  for (const auto& stream : streams) stream->Replay();
  for (const std::string& address : addresses) store_.BeginReplay(address);
}

void FleetWatch::SendFormerPods() {
  const auto former = store_.TakeFormerLayouts();
  MutexLock lock(mutex_);
  for (const auto& [address, layout] : former) {
    const auto stream = streams_.find(address);
    if (stream != streams_.end()) stream->second->SendFormerPods(layout->pods);
  }
}

void FleetWatch::Subscribe(const CostlyReadings& wanted, absl::Duration lease) {
  MutexLock lock(mutex_);
  subscription_ = wanted;
  subscribed_until_ = clock_.Now() + lease;
  for (const auto& stream : streams_) stream.second->Subscribe(wanted, lease);
}

std::map<std::string, StreamCounts> FleetWatch::CountsOfAgents() const {
  MutexLock lock(mutex_);
  std::map<std::string, StreamCounts> counts;
  for (const auto& [address, stream] : streams_) counts[address] += stream->counts();
  return counts;
}

}  // namespace gpuscaler
