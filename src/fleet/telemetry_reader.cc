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

// GPUs of readings, about 0.6 KiB each: the past of a node of 144, as messages as small as 256 KiB,
// would else take a gigabyte at once.
constexpr size_t kMostAtOnce = 16 << 10;

// GPUs of readings in one message: to make a million takes a second.
constexpr size_t kMostInMessage = 2 << 20;

}  // namespace

// A reading costs as much as 16 GPUs. Of 144 GPUs, read every 50 ms, that are 3,200 a second; of
// all that is allowed 15 minutes take 0.2 GiB.
bool ReadingAllowance::Take(const NodeSnapshot& snapshot) {
  constexpr double kASecond = 4096;
  constexpr double kAtOnce = 16 * kASecond;
  if (snapshot.taken_at <= at_) return true;  // told again: nobody keeps it
  left_ = std::min(left_ + kASecond * absl::ToDoubleSeconds(snapshot.taken_at - at_), kAtOnce);
  at_ = snapshot.taken_at;
  left_ -= 16 + static_cast<double>(snapshot.gpus.size());
  return left_ >= 0;
}

void TelemetryReader::Begin() { node_.Clear(); }

absl::Status TelemetryReader::Meet(const wire::Node& node) {
  const bool other_process = node.instance() != instance_;
  if (!other_process && !node_.name().empty() && node.name() != node_.name()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is of node ", node_.name(), ", and then of ", node.name()));
  }
  if (other_process) {
    peer_clock_ = PeerClock();
    decoder_ = ReadingDecoder();
    allowance_ = ReadingAllowance();
  }
  instance_ = node.instance();
  node_ = node;
  decoder_.SetNode(node_);
  return absl::OkStatus();
}

absl::Status TelemetryReader::AddReading(const wire::Reading& reading, const WriterClock& clock,
                                         AgentNews& news) {
  AgentNews::Reading& added = news.readings.emplace_back();
  if (reading.has_before_until_us()) added.before_until = clock.Ours(reading.before_until_us());
  ASSIGN_OR_RETURN(added.snapshot, decoder_.Decode(reading, clock));
  if (!allowance_.Take(added.snapshot)) {
    return absl::InvalidArgumentError("readings follow each other faster than any agent reads");
  }
  std::string said = BoundReadings(added.snapshot);
  if (news.unbelieved.empty()) news.unbelieved = std::move(said);
  return absl::OkStatus();
}

absl::Status TelemetryReader::Read(wire::Telemetry& message, absl::Time now,
                                   const std::function<void(AgentNews)>& tell) {
  RETURN_IF_ERROR(BoundMessage(message));
  if (message.has_node()) RETURN_IF_ERROR(Meet(message.node()));
  peer_clock_.Heard(FromWire(message.sent_us()), now);
  const WriterClock theirs{.offset = peer_clock_.offset(), .latest = now};

  const AgentNews nothing{.node = node_.name(),
                          .instance = node_.instance(),
                          .version = node_.agent_version(),
                          .heard_at = now,
                          .trouble = message.trouble(),
                          .more = true};
  AgentNews news = nothing;
  size_t gpus = 0;
  size_t told = 0;
  for (const wire::Reading& reading : message.readings()) {
    RETURN_IF_ERROR(AddReading(reading, theirs, news));
    gpus += news.readings.back().snapshot.gpus.size() + 1;
    if (gpus > kMostInMessage) return absl::InvalidArgumentError("a message of too many readings");
    if (gpus - told < kMostAtOnce) continue;
    tell(std::exchange(news, nothing));
    told = gpus;
  }
  if (message.has_unchanged_until_us()) {
    const auto again = decoder_.Unchanged(message.unchanged_until_us(), theirs);
    if (again) news.unchanged_until = again->taken_at;
  }
  news.more = message.more();
  tell(std::move(news));
  return absl::OkStatus();
}

}  // namespace gpuscaler
