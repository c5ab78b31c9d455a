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

// Bytes of readings: the past of a node of 144 GPUs, as messages as small as 256 KiB, would else
// take gigabytes at once.
constexpr size_t kMostAtOnce = size_t{10} << 20;

// Bytes of decoded readings that one agent may cause: the longest past at once, then so many a
// second. A reading of 2 bytes repeats the one before it, and counts as much.
constexpr double kDecodedAtOnce = size_t{3} << 30;
constexpr double kDecodedASecond = 16 << 20;

// Bytes of readings in one message. To make them takes seconds; the longest of an agent, 256 KiB of
// one changed number each of 144 GPUs and as many pods, has 2.1 GiB.
constexpr size_t kMostInMessage = size_t{5} << 29;

// Bytes of one reading: 4,096 pods have 2.2 MiB.
constexpr size_t kHeaviest = size_t{4} << 20;

// An address becomes another node's when that node's agent is given it: once in a long while. Each
// node may take as much memory as one agent may.
constexpr absl::Duration kShortestStay = absl::Minutes(1);

}  // namespace

TelemetryReader::TelemetryReader() : decoded_(kDecodedAtOnce, kDecodedASecond) {}

void TelemetryReader::Begin() {
  unread_ = {};
  node_.Clear();
  of_stream_ = ReadingQuota();
}

absl::Status TelemetryReader::Meet(const wire::Node& node, absl::Time now) {
  const bool other_process = node.instance() != instance_;
  if (!other_process && !node_.name().empty() && node.name() != node_.name()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is of node ", node_.name(), ", and then of ", node.name()));
  }
  RETURN_IF_ERROR(Count(node.name(), now));
  if (other_process) {
    peer_clock_ = PeerClock();
    decoder_ = ReadingDecoder();
  }
  instance_ = node.instance();
  node_ = node;
  decoder_.SetNode(node_);
  return absl::OkStatus();
}

absl::Status TelemetryReader::Count(const std::string& name, absl::Time now) {
  if (name.empty() || name == counted_) return absl::OkStatus();
  if (now - counted_since_ < kShortestStay) {
    return absl::InvalidArgumentError(absl::StrCat("it became of node ", counted_, " ",
                                                   absl::FormatDuration(now - counted_since_),
                                                   " ago, and is of ", name, " now"));
  }
  if (!counted_.empty()) counted_since_ = now;
  counted_ = name;
  of_node_ = ReadingQuota();
  return absl::OkStatus();
}

absl::Status TelemetryReader::Weigh(absl::Time taken_at) {
  const ReadingWeight& weight = decoder_.weight();
  if (weight.whole > kHeaviest) {
    return absl::InvalidArgumentError(
        absl::StrCat("a reading that takes ", weight.whole, " bytes, at most ", kHeaviest));
  }
  const bool was_possible = decoded_.Take(unread_.clock.latest, static_cast<double>(weight.whole));
  const bool stream_may = of_stream_.Take(taken_at, weight);
  const bool node_may = of_node_.Take(taken_at, weight);
  if (was_possible && stream_may && node_may) return absl::OkStatus();
  return absl::InvalidArgumentError("readings say more than any agent has to say");
}

absl::Status TelemetryReader::AddReading(const wire::Reading& reading, AgentUpdate& update) {
  AgentUpdate::Reading& added = update.readings.emplace_back();
  const WriterClock& clock = unread_.clock;
  if (reading.has_before_until_us()) added.before_until = clock.Ours(reading.before_until_us());
  ASSIGN_OR_RETURN(added.snapshot, decoder_.Decode(reading, clock));
  RETURN_IF_ERROR(Weigh(added.snapshot.taken_at));
  std::string observed = BoundReadings(added.snapshot);
  if (update.unbelieved.empty()) update.unbelieved = std::move(observed);
  return absl::OkStatus();
}

absl::Status TelemetryReader::Take(wire::Telemetry message, absl::Time now) {
  RETURN_IF_ERROR(BoundMessage(message));
  if (message.has_node()) RETURN_IF_ERROR(Meet(message.node(), now));
  peer_clock_.Received(FromWire(message.sent_us()), now);
  unread_ = {.message = std::move(message),
             .clock = {.offset = peer_clock_.offset(), .latest = now},
             .is_there = true};
  return absl::OkStatus();
}

absl::Status TelemetryReader::Continue(const std::function<void(AgentUpdate)>& tell) {
  const wire::Telemetry& message = unread_.message;
  AgentUpdate update{.node = node_.name(),
                     .instance = node_.instance(),
                     .version = node_.agent_version(),
                     .received_at = unread_.clock.latest,
                     .trouble = message.trouble(),
                     .more = true};
  if (message.has_node() && unread_.next == 0) {
    const auto& names = node_.engine_namespaces();
    update.engine_namespaces.emplace(names.begin(), names.end());
  }
  for (size_t bytes = 0; unread_.next < message.readings_size() && bytes < kMostAtOnce;) {
    RETURN_IF_ERROR(AddReading(message.readings(unread_.next++), update));
    bytes += decoder_.weight().whole;
    unread_.bytes += decoder_.weight().whole;
    if (unread_.bytes > kMostInMessage) {
      return absl::InvalidArgumentError("a message of too many readings");
    }
  }
  if (unread_.next == message.readings_size()) {
    if (message.has_unchanged_until_us()) {
      const NodeSnapshot* const again =
          decoder_.Unchanged(message.unchanged_until_us(), unread_.clock);
      if (again != nullptr) update.unchanged_until = again->taken_at;
    }
    update.more = message.more();
    unread_ = {};
  }
  tell(std::move(update));
  return absl::OkStatus();
}

absl::Status TelemetryReader::Read(wire::Telemetry message, absl::Time now,
                                   const std::function<void(AgentUpdate)>& tell) {
  RETURN_IF_ERROR(Take(std::move(message), now));
  while (has_more()) RETURN_IF_ERROR(Continue(tell));
  return absl::OkStatus();
}

}  // namespace gpuscaler
