#include "fleet/engine_log.h"

#include <algorithm>
#include <utility>

#include "fleet/engine_wire.h"
#include "model/leases.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// Limit of a message: far below the 4 MiB that a reader accepts, with room for one reading of any
// exposition.
constexpr size_t kMaxEngineLogBytes = size_t{256} << 10;

}  // namespace

size_t EngineLog::SizeOf(const Entry& entry) { return sizeof(Entry) + entry.bytes.size(); }

EngineLog::EngineLog(const Clock& clock, std::function<void()> on_more_wanted, size_t most_bytes)
    : clock_(clock), on_more_wanted_(std::move(on_more_wanted)), most_bytes_(most_bytes) {}

EngineSubscription EngineLog::Subscription() {
  MutexLock lock(mutex_);
  DropUnsubscribed();
  return all_;
}

void EngineLog::RemoveEnded(absl::Time now) {
  if (now < next_end_) return;
  all_ = {};
  next_end_ = absl::InfiniteFuture();
  for (auto each = leases_.begin(); each != leases_.end();) {
    const auto& [key, lease] = *each;
    if (now < lease.until) {
      all_.namespaces[key.first].Add(key.second);
      next_end_ = std::min(next_end_, lease.until);
      ++each;
      continue;
    }
    if (lease.stranger.has_value()) {
      const auto held = by_stranger_.find(*lease.stranger);
      if (--held->second == 0) by_stranger_.erase(held);
      --by_strangers_;
    }
    each = leases_.erase(each);
  }
}

bool EngineLog::HasRoom(const std::optional<std::string>& stranger) const {
  if (leases_.size() >= 2 * kMaxNamespacesSubscribed) return false;
  if (!stranger.has_value()) return true;
  const auto held = by_stranger_.find(*stranger);
  const size_t own = held == by_stranger_.end() ? 0 : held->second;
  const size_t by_others = by_strangers_ - own;
  return own < (kMaxNamespacesSubscribed - by_others) / 2;
}

bool EngineLog::Add(const Key& key, const Lease& lease) {
  leases_.emplace(key, lease);
  next_end_ = std::min(next_end_, lease.until);
  if (lease.stranger.has_value()) {
    ++by_stranger_[*lease.stranger];
    ++by_strangers_;
  }
  const auto [all, is_new] = all_.namespaces.try_emplace(key.first);
  const EngineSubscription::Interest before = all->second;
  all->second.Add(key.second);
  return is_new || all->second != before;
}

void EngineLog::DropUnsubscribed() {
  RemoveEnded(clock_.Now());
  for (auto each = namespaces_.begin(); each != namespaces_.end();) {
    if (all_.namespaces.contains(each->first)) {
      ++each;
      continue;
    }
    bytes_ -= each->second.bytes;
    each = namespaces_.erase(each);
  }
  NumberEngines();
}

size_t EngineLog::Subscribe(const EngineSubscription& wanted, absl::Time until,
                            const std::optional<std::string>& stranger) {
  until = absl::UnixEpoch() + absl::Ceil(until - absl::UnixEpoch(), absl::Seconds(1));
  bool is_more = false;
  size_t refused = 0;
  {
    MutexLock lock(mutex_);
    const absl::Time now = clock_.Now();
    RemoveEnded(now);
    if (until <= now) return 0;
    for (const auto& [name, interest] : wanted.namespaces) {
      Key key(name, interest);
      key.second.look_back = absl::Ceil(interest.look_back, kLookBackStep);
      const auto known = leases_.find(key);
      if (known != leases_.end()) {
        known->second.until = std::max(known->second.until, until);
      } else if (HasRoom(stranger)) {
        is_more |= Add(key, {.until = until, .stranger = stranger});
      } else {
        ++refused;
      }
    }
  }
  if (is_more && on_more_wanted_ != nullptr) on_more_wanted_();
  return refused;
}

void EngineLog::List(const absl::StatusOr<NodeEngines>& found) {
  MutexLock lock(mutex_);
  search_error_ = found.status();
  if (found.ok()) {
    namespaces_of_records_ = found->namespaces_of_records;
    for (const auto& [name, engines] : found->namespaces) namespaces_[name].found = engines;
    DropUnsubscribed();
  }
  ++lists_;
  Changed();
}

// Gives each found engine an id. An engine that was removed and found again gets a new one, because
// its readings are gone.
void EngineLog::NumberEngines() {
  std::set<EngineAddress> places;
  for (const auto& [name, kept] : namespaces_) {
    places.insert(kept.found.engines.begin(), kept.found.engines.end());
  }
  std::erase_if(ids_, [&](const auto& id) { return !places.contains(id.first); });
  for (const EngineAddress& place : places) {
    if (ids_.try_emplace(place, last_id_ + 1).second) ++last_id_;
  }
  listed_.clear();
  for (const auto& [place, id] : ids_) listed_.insert(id);
}

void EngineLog::AddReading(const EngineAddress& place, const EngineUpdate& update) {
  MutexLock lock(mutex_);
  const auto id = ids_.find(place);
  if (id == ids_.end()) return;
  Namespace& kept = namespaces_.at(place.namespace_name);
  kept.readings.push_back({.number = ++last_number_,
                           .engine = id->second,
                           .at = update.at,
                           .bytes = EncodeEngine(id->second, update).SerializeAsString()});
  kept.bytes += SizeOf(kept.readings.back());
  bytes_ += SizeOf(kept.readings.back());
  RemoveEnded(clock_.Now());
  const auto interest = all_.namespaces.find(place.namespace_name);
  const absl::Duration look_back =
      interest == all_.namespaces.end() ? absl::ZeroDuration() : interest->second.look_back;
  while (kept.readings.front().at < update.at - look_back) DropOldest(kept);
  MakeRoom();
  Changed();
}

void EngineLog::DropOldest(Namespace& from) {
  from.bytes -= SizeOf(from.readings.front());
  bytes_ -= SizeOf(from.readings.front());
  from.readings.pop_front();
}

void EngineLog::MakeRoom() {
  while (bytes_ > most_bytes_) {
    DropOldest(std::ranges::max_element(namespaces_, {}, [](const auto& each) {
                 return each.second.bytes;
               })->second);
  }
}

void EngineLog::Changed() {
  ++generation_;
  changed_.NotifyAll();
}

wire::EngineList EngineLog::ListOf(const EngineSubscription& wanted) const {
  wire::EngineList list;
  if (!search_error_.ok()) {
    list.set_why(std::string(search_error_.message()));
    return list;
  }
  for (const auto& [name, kept] : namespaces_) {
    if (!wanted.namespaces.contains(name)) continue;
    list.add_namespaces(name);
    for (const EngineAddress& place : kept.found.engines) {
      wire::FoundEngine& engine = *list.add_engines();
      engine.set_id(ids_.at(place));
      engine.set_namespace_name(place.namespace_name);
      engine.set_pod(place.pod);
      engine.set_address(place.address);
      engine.set_port(static_cast<uint32_t>(place.port));
    }
    for (const MissingEngine& pod : kept.found.missing_engines) {
      wire::PodWithoutEngine& without = *list.add_without();
      without.set_namespace_name(pod.namespace_name);
      without.set_pod(pod.pod);
      without.set_why(pod.why);
    }
    for (const auto& engine : kept.found.capacity_records) EncodeLeft(*engine, *list.add_left());
  }
  return list;
}

void EngineLog::AppendReadings(const std::deque<Entry>& readings, bool histograms, int64_t& next,
                               size_t& bytes, wire::EngineTelemetry& message) const {
  auto entry = std::ranges::lower_bound(readings, next, {}, &Entry::number);
  for (; entry != readings.end() && bytes < kMaxEngineLogBytes; ++entry) {
    next = entry->number + 1;
    if (!listed_.contains(entry->engine)) continue;
    wire::EngineReading& reading = *message.add_readings();
    reading.ParseFromString(entry->bytes);
    if (!histograms) DropHistograms(reading);
    bytes += reading.ByteSizeLong();
  }
  if (entry != readings.end()) message.set_more(true);
}

void EngineLog::Cursor::SetSubscription(EngineSubscription wanted) {
  if (wanted == subscription) return;
  subscription = std::move(wanted);
  list = 0;
  std::erase_if(next,
                [this](const auto& each) { return !subscription.namespaces.contains(each.first); });
}

bool EngineLog::AppendNew(Cursor& cursor, wire::EngineTelemetry& message) const {
  MutexLock lock(mutex_);
  if (lists_ == 0) return false;
  const bool list_is_new = cursor.list != lists_;
  if (list_is_new) {
    *message.mutable_list() = ListOf(cursor.subscription);
    cursor.list = lists_;
  }
  size_t bytes = 0;
  for (const auto& [name, interest] : cursor.subscription.namespaces) {
    const auto kept = namespaces_.find(name);
    if (kept == namespaces_.end() || kept->second.readings.empty()) continue;
    const std::deque<Entry>& readings = kept->second.readings;
    const auto [next, is_first] = cursor.next.try_emplace(name, 0);
    if (is_first) {
      const absl::Time oldest = readings.back().at - interest.look_back;
      next->second = std::ranges::find_if(readings, [&](const Entry& entry) {
                       return entry.at >= oldest;
                     })->number;
    }
    AppendReadings(readings, interest.histograms, next->second, bytes, message);
  }
  return list_is_new || message.readings_size() > 0;
}

int64_t EngineLog::WaitForUpdate(int64_t generation, absl::Duration timeout) const {
  MutexLock lock(mutex_);
  if (generation_ <= generation) changed_.WaitFor(mutex_, timeout);
  return generation_;
}

std::set<std::string> EngineLog::NamespacesOfRecords() const {
  MutexLock lock(mutex_);
  return namespaces_of_records_;
}

void EngineLog::WakeWaiters() {
  MutexLock lock(mutex_);
  Changed();
}

}  // namespace gpuscaler
