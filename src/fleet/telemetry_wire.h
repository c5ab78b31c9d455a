// The readings of a node as messages, each with the changes since the one before.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "fleet/gpu_wire.h"
#include "fleet/reading_weight.h"
#include "model/node_snapshot.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// A longer time between two readings is an outage. Equals the shortest --stale-after.
inline constexpr absl::Duration kLongestBetweenReadings = absl::Seconds(5);

// Identity and names are in the first message only, and a number only when it has changed. 8 GPUs
// with one new number each take about 110 bytes. Not thread-safe.
class ReadingEncoder {
 public:
  // Encodes the change since the last reading. Empty: nothing has changed. The first reading after
  // an outage is encoded even if it has no change. Power that differs by at most 2 W from the last
  // sent value counts as unchanged, as does a temperature that differs by at most 1 degree.
  std::optional<telemetry::v1::Reading> Encode(const NodeSnapshot& read);

  // The last reading with the values that were sent; empty: none yet.
  const std::optional<NodeSnapshot>& last() const { return last_; }

 private:
  std::optional<NodeSnapshot> last_;
  absl::Time encoded_at_;  // when the last non-empty result was taken
};

void EncodePod(const Pod& pod, telemetry::v1::Pod& message);
Pod DecodePod(const telemetry::v1::Pod& pod, const WriterClock& clock);

// Encodes the whole snapshot, for a reader that has no earlier reading.
telemetry::v1::Reading WholeReading(const NodeSnapshot& snapshot);

// Decodes readings to snapshots with times on the reader's clock. Not thread-safe.
class ReadingDecoder {
 public:
  // Sets the node of the readings. Must be called before the first of them.
  void SetNode(const telemetry::v1::Node& node);

  // Returns INVALID_ARGUMENT if no writer of any version sends this; then the stream must end.
  absl::StatusOr<NodeSnapshot> Decode(const telemetry::v1::Reading& reading,
                                      const WriterClock& clock);

  // The weight of the last decoded reading.
  const ReadingWeight& weight() const { return weight_; }

  // Extends the last snapshot to `until_us` on the writer's clock, and returns that time on the
  // reader's clock. Returns nullopt if there is no snapshot, or it was taken later.
  std::optional<absl::Time> Unchanged(int64_t until_us, const WriterClock& clock);

  // Returns the last snapshot, extended. Requires that there is one. Valid until the next call.
  const NodeSnapshot& Last();

 private:
  // Keeps the order of the writer's clock: a later reading stays later here, though the offset of
  // its message may be smaller. Otherwise it would be dropped as a repetition.
  absl::Time TakenAt(const telemetry::v1::Reading& reading, const WriterClock& clock) const;
  absl::Status ApplyChange(const telemetry::v1::Reading& reading, const WriterClock& clock,
                           NodeSnapshot& snapshot) const;

  telemetry::v1::Node node_;
  std::optional<NodeSnapshot> last_;
  bool is_memory_late_ = false;  // the GPUs' steady memory does not reach taken_at yet
  ReadingWeight weight_;
  int64_t last_us_ = std::numeric_limits<int64_t>::min();  // on the writer's clock
};

telemetry::v1::Node NodeOf(const NodeSnapshot& snapshot);

}  // namespace gpuscaler
