#include "fleet/telemetry_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fleet/gpu_wire.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// Limit of a message: far below the 4 MiB that a reader accepts, with room for one reading of any
// node.
constexpr size_t kMaxTelemetryBytes = size_t{256} << 10;

// Every 32nd entry has its whole state too, so the start of a reader decodes at most 32 readings.
constexpr int64_t kReadingsPerWhole = 32;

wire::Reading Parsed(const std::string& bytes) {
  wire::Reading reading;
  reading.ParseFromString(bytes);
  return reading;
}

bool IsAttributed(const NodeSnapshot& snapshot) {
  return snapshot.attribution.state == Attribution::State::kKnown;
}

}  // namespace

TelemetryLog::TelemetryLog(absl::Duration horizon, wire::Node self)
    : horizon_(horizon), node_(std::move(self)) {}

wire::Node TelemetryLog::node() const {
  MutexLock lock(mutex_);
  return node_;
}

absl::StatusOr<std::shared_ptr<const TelemetryLog>> TelemetryLog::LogOf(
    const std::set<std::string>& namespaces, bool is_aggregator) {
  MutexLock lock(mutex_);
  std::erase_if(parts_, [](const auto& part) { return part.second.expired(); });
  const auto sets = std::ranges::count_if(
      parts_, [is_aggregator](const auto& part) { return part.first.first == is_aggregator; });
  const std::pair key(is_aggregator, namespaces);
  if (const auto known = parts_.find(key); known != parts_.end()) {
    if (auto part = known->second.lock()) return part;
  } else if (sets >= kMaxNamespaceSets) {
    return absl::ResourceExhaustedError(absl::StrCat(
        is_aggregator ? "aggregators" : "readers that are not known as aggregators",
        " of this agent have ", kMaxNamespaceSets,
        " different sets of namespaces, which is the most: give aggregators behind one Service the "
        "same --namespaces"));
  }
  wire::Node self = node_;
  self.clear_name();  // and the others: the first reading sets them
  self.clear_source();
  self.clear_driver_version();
  auto part = std::make_shared<TelemetryLog>(horizon_, std::move(self));
  {
    MutexLock part_lock(part->mutex_);
    part->filter_.emplace(namespaces, horizon_);
    part->has_past_ = false;
  }
  parts_[key] = part;
  return part;
}

void TelemetryLog::FillParts() {
  MutexLock lock(mutex_);
  for (const auto& each : parts_) {
    const auto part = each.second.lock();
    if (part != nullptr && !part->HasPast()) Replay(*part);
  }
}

bool TelemetryLog::HasPast() const {
  MutexLock lock(mutex_);
  return has_past_;
}

void TelemetryLog::Replay(TelemetryLog& part) const {
  part.SetTrouble(trouble_);
  part.SetEngineNamespaces({node_.engine_namespaces().begin(), node_.engine_namespaces().end()});
  ReadingDecoder decoder = before_;
  decoder.SetNode(node_);
  bool is_first = true;
  absl::Time added_at = absl::InfiniteFuture();
  const auto add = [&](const NodeSnapshot& snapshot) {
    part.Add(snapshot);
    added_at = snapshot.taken_at;
  };
  // In steps, because a long time without a reading would be an outage.
  const auto add_unchanged = [&](absl::Time until) {
    while (added_at < until) {
      const absl::Time next = std::min(added_at + kLongestBetweenReadings, until);
      if (!decoder.Unchanged(ToWire(next), {})) return;  // less than a microsecond later
      add(decoder.Last());
    }
  };
  for (const Entry& entry : entries_) {
    const wire::Reading reading = Parsed(entry.bytes);
    if (reading.has_before_until_us()) add_unchanged(FromWire(reading.before_until_us()));
    const auto snapshot = decoder.Decode(reading, {});
    if (!snapshot.ok()) break;
    const bool is_missed = is_first && attributed_ && !IsAttributed(*snapshot) &&
                           attributed_->taken_us() < reading.taken_us();
    if (is_missed) {
      ReadingDecoder attributed;
      attributed.SetNode(node_);
      if (const auto last_known = attributed.Decode(*attributed_, {}); last_known.ok()) {
        part.Add(*last_known);
      }
    }
    add(*snapshot);
    is_first = false;
  }
  add_unchanged(newest_at_);
  MutexLock part_lock(part.mutex_);
  part.has_past_ = true;
}

std::vector<std::shared_ptr<TelemetryLog>> TelemetryLog::Parts() const {
  std::vector<std::shared_ptr<TelemetryLog>> parts;
  for (const auto& each : parts_) {
    auto part = each.second.lock();
    if (part != nullptr && part->HasPast()) parts.push_back(std::move(part));
  }
  return parts;
}

void TelemetryLog::SetEngineNamespaces(const std::set<std::string>& all) {
  MutexLock lock(mutex_);
  std::set<std::string> names;
  for (const std::string& name : all) {
    if (!filter_ || filter_->Has(name)) names.insert(name);
  }
  for (const auto& part : Parts()) part->SetEngineNamespaces(all);
  if (std::ranges::equal(names, node_.engine_namespaces())) return;
  node_.mutable_engine_namespaces()->Assign(names.begin(), names.end());
  if (!node_.name().empty()) ++node_changes_;
}

void TelemetryLog::SetTrouble(std::string trouble) {
  MutexLock lock(mutex_);
  for (const auto& part : Parts()) part->SetTrouble(trouble);
  trouble_ = std::move(trouble);
}

void TelemetryLog::Add(const NodeSnapshot& read) {
  MutexLock lock(mutex_);
  const NodeSnapshot snapshot = filter_ ? filter_->Filter(read) : read;
  const bool renamed = node_.name() != snapshot.node || node_.source() != snapshot.source ||
                       node_.driver_version() != snapshot.driver_version;
  if (renamed) {
    // One by one, because MergeFrom() would keep fields that have become empty.
    node_.set_name(snapshot.node);
    node_.set_source(snapshot.source);
    node_.set_driver_version(snapshot.driver_version);
    ++node_changes_;
  }
  const bool was_known = encoder_.last() && IsAttributed(*encoder_.last());
  if (was_known && !IsAttributed(snapshot)) attributed_ = WholeReading(*encoder_.last());
  if (const auto reading = encoder_.Encode(snapshot)) {
    Entry entry{.taken_at = snapshot.taken_at, .bytes = reading->SerializeAsString()};
    if (End() % kReadingsPerWhole == 0) {
      entry.whole = WholeReading(*encoder_.last()).SerializeAsString();
    }
    entries_.push_back(std::move(entry));
  }
  newest_at_ = snapshot.taken_at;
  // With the values that were sent, so that all readers get the same ones.
  for (const auto& part : Parts()) part->Add(*encoder_.last());
  // The last reading before the horizon is the state at its start.
  while (entries_.size() > 1 && entries_[1].taken_at <= newest_at_ - horizon_) {
    before_.Decode(Parsed(entries_.front().bytes), {}).IgnoreError();
    entries_.pop_front();
    ++first_;
  }
}

int64_t TelemetryLog::End() const { return first_ + static_cast<int64_t>(entries_.size()); }

void TelemetryLog::Begin(Cursor& cursor, wire::Telemetry& message) const {
  const bool is_new = cursor.next < 0;
  const absl::Time from = is_new ? newest_at_ - cursor.history : absl::InfinitePast();
  const auto later =
      std::ranges::upper_bound(entries_.begin() + 1, entries_.end(), from, {}, &Entry::taken_at);
  cursor.next = first_ + (later - entries_.begin());
  auto entry = later - 1;
  while (entry != entries_.begin() && entry->whole.empty()) --entry;
  ReadingDecoder decoder = before_;
  auto snapshot = decoder.Decode(Parsed(entry->whole.empty() ? entry->bytes : entry->whole), {});
  while (++entry != later) snapshot = decoder.Decode(Parsed(entry->bytes), {});
  if (!snapshot.ok()) {  // the same limits end the reader's stream
    cursor.next = End();
    *message.add_readings() = WholeReading(*encoder_.last());
    return;
  }
  const wire::Reading reading = WholeReading(*snapshot);
  const bool is_missed = is_new && attributed_ && !IsAttributed(*snapshot);
  if (is_missed && attributed_->taken_us() < reading.taken_us()) {
    *message.add_readings() = *attributed_;
  }
  *message.add_readings() = reading;
}

bool TelemetryLog::AppendNew(Cursor& cursor, wire::Telemetry& message) const {
  MutexLock lock(mutex_);
  message.set_trouble(trouble_);
  const bool trouble_is_new = std::exchange(cursor.trouble, trouble_) != trouble_;
  if (entries_.empty()) return trouble_is_new;
  size_t bytes = 0;
  if (cursor.node != node_changes_) {
    *message.mutable_node() = node_;
    cursor.node = node_changes_;
  }
  if (cursor.next < first_) {
    Begin(cursor, message);
    bytes = message.ByteSizeLong();
  }
  for (; cursor.next < End() && bytes < kMaxTelemetryBytes; ++cursor.next) {
    const Entry& entry = entries_[static_cast<size_t>(cursor.next - first_)];
    *message.add_readings() = Parsed(entry.bytes);
    bytes += entry.bytes.size();
  }
  message.set_more(cursor.next < End());
  if (!message.more() && entries_.back().taken_at < newest_at_) {
    message.set_unchanged_until_us(ToWire(newest_at_));
  }
  return message.readings_size() > 0 || message.has_node() || trouble_is_new;
}

}  // namespace gpuscaler
