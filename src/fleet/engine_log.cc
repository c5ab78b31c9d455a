#include "fleet/engine_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fleet/engine_wire.h"
#include "store/leases.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// Limit of a message: far below the 4 MiB that a reader accepts, with room for one reading of any
// exposition.
constexpr size_t kMaxEngineLogBytes = size_t{256} << 10;

using Namespaces = std::set<std::string>;

Namespaces NamesOf(const EngineSubscription& wanted) {
  Namespaces names;
  for (const auto& [name, interest] : wanted.namespaces) names.insert(name);
  return names;
}

// Keeps what is of these namespaces (`keep_these`), or what is not.
void FilterNamespaces(const Namespaces& names, bool keep_these, NodeEngines& found) {
  const auto is_dropped = [&](const std::string& name) {
    return names.contains(name) != keep_these;
  };
  const auto is_in_dropped = [&](const auto& one) { return is_dropped(one.namespace_name); };
  std::erase_if(found.namespaces, is_dropped);
  std::erase_if(found.engines, is_in_dropped);
  std::erase_if(found.missing_engines, is_in_dropped);
  std::erase_if(found.capacity_records, [&](const auto& engine) { return is_in_dropped(*engine); });
}

}  // namespace

size_t EngineLog::SizeOf(const Entry& entry) { return sizeof(Entry) + entry.bytes.size(); }

EngineLog::EngineLog(const Clock& clock, std::function<void()> on_more_wanted, size_t most_bytes)
    : clock_(clock), on_more_wanted_(std::move(on_more_wanted)), most_bytes_(most_bytes) {}

EngineSubscription EngineLog::Subscription() {
  MutexLock lock(mutex_);
  return DropUnsubscribed();
}

EngineSubscription EngineLog::SubscribedAt(absl::Time now) {
  subscriptions_.Sweep(now);
  EngineSubscription all;
  for (const auto& [subscription, until] : subscriptions_) {
    all.namespaces[subscription.first].Add(subscription.second);
  }
  return all;
}

EngineSubscription EngineLog::DropUnsubscribed() {
  EngineSubscription wanted = SubscribedAt(clock_.Now());
  for (auto each = pasts_.begin(); each != pasts_.end();) {
    if (wanted.namespaces.contains(each->first)) {
      ++each;
      continue;
    }
    bytes_ -= each->second.bytes;
    each = pasts_.erase(each);
  }
  FilterNamespaces(NamesOf(wanted), true, found_);
  NumberEngines();
  return wanted;
}

void EngineLog::Subscribe(const EngineSubscription& wanted, absl::Time until) {
  bool is_more = false;
  {
    MutexLock lock(mutex_);
    const absl::Time now = clock_.Now();
    const EngineSubscription before = SubscribedAt(now);
    for (auto [name, interest] : wanted.namespaces) {
      interest.look_back = absl::Ceil(interest.look_back, kLookBackStep);
      const bool is_known = subscriptions_.contains({name, interest});
      if (!is_known && subscriptions_.size() >= kMaxNamespacesSubscribed) continue;
      subscriptions_.Renew({name, interest}, until);
    }
    is_more = SubscribedAt(now) != before;
  }
  if (is_more && on_more_wanted_ != nullptr) on_more_wanted_();
}

void EngineLog::List(const absl::StatusOr<NodeEngines>& found) {
  MutexLock lock(mutex_);
  why_none_ = found.status();
  if (found.ok()) {
    namespaces_of_records_.clear();
    for (const auto& engine : found->capacity_records)
      namespaces_of_records_.insert(engine->namespace_name);
    MergeFound(*found);
    DropUnsubscribed();
  }
  ++list_;
  Changed();
}

void EngineLog::MergeFound(const NodeEngines& found) {
  const Namespaces searched(found.namespaces.begin(), found.namespaces.end());
  FilterNamespaces(searched, false, found_);
  NodeEngines added = found;
  FilterNamespaces(searched, true, added);
  std::ranges::move(added.namespaces, std::back_inserter(found_.namespaces));
  std::ranges::move(added.engines, std::back_inserter(found_.engines));
  std::ranges::move(added.missing_engines, std::back_inserter(found_.missing_engines));
  std::ranges::move(added.capacity_records, std::back_inserter(found_.capacity_records));
}

// Gives each found engine an id. An engine that was removed and found again gets a new one, because
// its readings are gone.
void EngineLog::NumberEngines() {
  const std::set<EngineAddress> places(found_.engines.begin(), found_.engines.end());
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
  Past& past = pasts_[place.namespace_name];
  past.readings.push_back({.number = ++last_number_,
                           .engine = id->second,
                           .at = update.at,
                           .bytes = EncodeEngine(id->second, update).SerializeAsString()});
  past.bytes += SizeOf(past.readings.back());
  bytes_ += SizeOf(past.readings.back());
  const EngineSubscription wanted = SubscribedAt(clock_.Now());
  const auto interest = wanted.namespaces.find(place.namespace_name);
  const absl::Duration look_back =
      interest == wanted.namespaces.end() ? absl::ZeroDuration() : interest->second.look_back;
  while (past.readings.front().at < update.at - look_back) DropFirst(past);
  MakeRoom();
  Changed();
}

void EngineLog::DropFirst(Past& past) {
  past.bytes -= SizeOf(past.readings.front());
  bytes_ -= SizeOf(past.readings.front());
  past.readings.pop_front();
}

void EngineLog::MakeRoom() {
  while (bytes_ > most_bytes_) {
    DropFirst(std::ranges::max_element(pasts_, {}, [](const auto& each) {
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
  if (!why_none_.ok()) {
    list.set_why(std::string(why_none_.message()));
    return list;
  }
  NodeEngines found = found_;
  FilterNamespaces(NamesOf(wanted), true, found);
  for (const std::string& name : found.namespaces) list.add_namespaces(name);
  for (const EngineAddress& place : found.engines) {
    wire::FoundEngine& engine = *list.add_engines();
    engine.set_id(ids_.at(place));
    engine.set_namespace_name(place.namespace_name);
    engine.set_pod(place.pod);
    engine.set_address(place.address);
    engine.set_port(static_cast<uint32_t>(place.port));
  }
  for (const MissingEngine& pod : found.missing_engines) {
    wire::PodWithoutEngine& without = *list.add_without();
    without.set_namespace_name(pod.namespace_name);
    without.set_pod(pod.pod);
    without.set_why(pod.why);
  }
  for (const auto& engine : found.capacity_records) EncodeLeft(*engine, *list.add_left());
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

bool EngineLog::AppendNew(const EngineSubscription& wanted, Cursor& cursor,
                          wire::EngineTelemetry& message) const {
  MutexLock lock(mutex_);
  if (list_ == 0) return false;
  const bool list_is_new = cursor.list != list_ || cursor.wanted != wanted;
  if (list_is_new) *message.mutable_list() = ListOf(wanted);
  cursor.list = list_;
  cursor.wanted = wanted;
  std::erase_if(cursor.next,
                [&](const auto& next) { return !wanted.namespaces.contains(next.first); });
  size_t bytes = 0;
  for (const auto& [name, interest] : wanted.namespaces) {
    const auto past = pasts_.find(name);
    if (past == pasts_.end() || past->second.readings.empty()) continue;
    const std::deque<Entry>& readings = past->second.readings;
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
