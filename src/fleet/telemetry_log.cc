#include "fleet/telemetry_log.h"

#include <algorithm>
#include <utility>

#include "fleet/gpu_wire.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// Limit of a message: far below the 4 MiB that a reader accepts, with room for one reading of any
// node.
constexpr size_t kMaxTelemetryBytes = size_t{256} << 10;

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

void TelemetryLog::SetEngineNamespaces(const std::set<std::string>& names) {
  MutexLock lock(mutex_);
  if (std::ranges::equal(names, node_.engine_namespaces())) return;
  node_.mutable_engine_namespaces()->Assign(names.begin(), names.end());
  if (!node_.name().empty()) ++node_changes_;
}

void TelemetryLog::SetTrouble(std::string trouble) {
  MutexLock lock(mutex_);
  trouble_ = std::move(trouble);
}

void TelemetryLog::Add(const NodeSnapshot& snapshot) {
  MutexLock lock(mutex_);
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
    entries_.push_back({.taken_at = snapshot.taken_at, .bytes = reading->SerializeAsString()});
  }
  newest_at_ = snapshot.taken_at;
  // The last reading before the horizon is the state at its start.
  while (entries_.size() > 1 && entries_[1].taken_at <= newest_at_ - horizon_) {
    before_.Decode(Parsed(entries_.front().bytes), {}).IgnoreError();
    entries_.pop_front();
    ++first_;
  }
}

int64_t TelemetryLog::End() const { return first_ + static_cast<int64_t>(entries_.size()); }

void TelemetryLog::Begin(Cursor& cursor, wire::Telemetry& message) const {
  ReadingDecoder decoder = before_;
  const bool is_new = cursor.next < 0;
  const absl::Time from = is_new ? newest_at_ - cursor.history : absl::InfinitePast();
  size_t next = 0;
  absl::StatusOr<NodeSnapshot> snapshot;
  do {
    snapshot = decoder.Decode(Parsed(entries_[next].bytes), {});
    ++next;
  } while (next < entries_.size() && entries_[next].taken_at <= from);
  cursor.next = first_ + static_cast<int64_t>(next);
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
