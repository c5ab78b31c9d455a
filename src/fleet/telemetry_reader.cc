#include "fleet/telemetry_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fleet/reading_bounds.h"
#include "fleet/telemetry_bounds.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// Bytes of readings in one part. The past of a node of 144 GPUs, in messages as small as 256 KiB,
// would otherwise take gigabytes at once.
constexpr size_t kMaxAtOnce = size_t{10} << 20;

// Bytes of decoded readings that one agent may cause: a burst for the longest past, then a rate per
// second. A reading of 2 bytes repeats the one before it, and counts as much.
constexpr double kDecodedBurst = size_t{3} << 30;
constexpr double kDecodedPerSecond = 16 << 20;

// Bytes of readings in one message, which take seconds to decode. The longest message of an agent
// has 256 KiB of readings with one changed number each, of 144 GPUs and as many pods: 2.1 GiB.
constexpr size_t kMaxInMessage = size_t{5} << 29;

// Bytes of one reading. 4,096 pods take 2.2 MiB.
constexpr size_t kHeaviest = size_t{4} << 20;

// An address moves to another node when that node's agent gets it, which is rare. Each node may
// take as much memory as one agent may.
constexpr absl::Duration kMinNodeChangeInterval = absl::Minutes(1);

}  // namespace

TelemetryReader::TelemetryReader() : decoded_(kDecodedBurst, kDecodedPerSecond) {}

void TelemetryReader::Begin() {
  pending_ = {};
  node_.Clear();
  stream_quota_ = ReadingQuota();
}

absl::Status TelemetryReader::SetNode(const wire::Node& node, absl::Time now) {
  const bool other_process = node.instance() != instance_;
  if (!other_process && !node_.name().empty() && node.name() != node_.name()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is of node ", node_.name(), ", and then of ", node.name()));
  }
  RETURN_IF_ERROR(SwitchNode(node.name(), now));
  if (other_process) {
    peer_clock_ = PeerClock();
    decoder_ = ReadingDecoder();
  }
  instance_ = node.instance();
  node_ = node;
  decoder_.SetNode(node_);
  return absl::OkStatus();
}

absl::Status TelemetryReader::SwitchNode(const std::string& name, absl::Time now) {
  if (name.empty() || name == charged_node_) return absl::OkStatus();
  if (now - charged_since_ < kMinNodeChangeInterval) {
    return absl::InvalidArgumentError(absl::StrCat("it became of node ", charged_node_, " ",
                                                   absl::FormatDuration(now - charged_since_),
                                                   " ago, and is of ", name, " now"));
  }
  if (!charged_node_.empty()) charged_since_ = now;
  charged_node_ = name;
  node_quota_ = ReadingQuota();
  return absl::OkStatus();
}

absl::Status TelemetryReader::ChargeMemory(absl::Time taken_at) {
  const ReadingWeight& weight = decoder_.weight();
  if (weight.whole > kHeaviest) {
    return absl::InvalidArgumentError(
        absl::StrCat("a reading that takes ", weight.whole, " bytes, at most ", kHeaviest));
  }
  const bool was_possible = decoded_.Take(pending_.clock.latest, static_cast<double>(weight.whole));
  const bool stream_may = stream_quota_.Take(taken_at, weight);
  const bool node_may = node_quota_.Take(taken_at, weight);
  if (was_possible && stream_may && node_may) return absl::OkStatus();
  return absl::InvalidArgumentError("more readings than any agent has");
}

absl::Status TelemetryReader::AddReading(const wire::Reading& reading, AgentUpdate& update) {
  AgentUpdate::Reading& added = update.readings.emplace_back();
  const WriterClock& clock = pending_.clock;
  if (reading.has_before_until_us())
    added.previous_confirmed_at = clock.ReaderTime(reading.before_until_us());
  ASSIGN_OR_RETURN(added.snapshot, decoder_.Decode(reading, clock));
  RETURN_IF_ERROR(ChargeMemory(added.snapshot.taken_at));
  std::string implausible = BoundReadings(added.snapshot);
  if (update.implausible.empty()) update.implausible = std::move(implausible);
  return absl::OkStatus();
}

absl::Status TelemetryReader::Take(wire::Telemetry message, absl::Time now) {
  RETURN_IF_ERROR(BoundMessage(message));
  if (message.has_node()) RETURN_IF_ERROR(SetNode(message.node(), now));
  peer_clock_.Received(FromWire(message.sent_us()), now);
  pending_ = {.message = std::move(message),
              .clock = {.offset = peer_clock_.offset(), .latest = now},
              .is_there = true};
  return absl::OkStatus();
}

absl::Status TelemetryReader::Continue(const std::function<void(AgentUpdate)>& deliver) {
  const wire::Telemetry& message = pending_.message;
  AgentUpdate update{.node = node_.name(),
                     .instance = node_.instance(),
                     .version = node_.agent_version(),
                     .received_at = pending_.clock.latest,
                     .trouble = message.trouble(),
                     .more = true};
  if (message.has_node() && pending_.next == 0) {
    const auto& names = node_.engine_namespaces();
    update.engine_namespaces.emplace(names.begin(), names.end());
  }
  for (size_t bytes = 0; pending_.next < message.readings_size() && bytes < kMaxAtOnce;) {
    RETURN_IF_ERROR(AddReading(message.readings(pending_.next++), update));
    bytes += decoder_.weight().whole;
    pending_.bytes += decoder_.weight().whole;
    if (pending_.bytes > kMaxInMessage) {
      return absl::InvalidArgumentError("a message of too many readings");
    }
  }
  if (pending_.next == message.readings_size()) {
    if (message.has_unchanged_until_us()) {
      update.newest_confirmed_at = decoder_.Unchanged(message.unchanged_until_us(), pending_.clock);
    }
    update.more = message.more();
    pending_ = {};
  }
  deliver(std::move(update));
  return absl::OkStatus();
}

absl::Status TelemetryReader::Read(wire::Telemetry message, absl::Time now,
                                   const std::function<void(AgentUpdate)>& deliver) {
  RETURN_IF_ERROR(Take(std::move(message), now));
  while (has_more()) RETURN_IF_ERROR(Continue(deliver));
  return absl::OkStatus();
}

}  // namespace gpuscaler
