// The readings of a node as messages, each the change since the one before.
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

// Identity and names go into the first message only, and a number only when it changed: 8 GPUs of
// which each shows one new number take about 110 bytes. Not thread-safe.
class ReadingEncoder {
 public:
  // Empty: it shows what the one before showed. Power within 2 W and temperature within 1 degree of
  // what was told last are not told again.
  std::optional<telemetry::v1::Reading> Encode(const NodeSnapshot& read);

  // The last reading, as it was told; empty: there was none.
  const std::optional<NodeSnapshot>& last() const { return last_; }

 private:
  std::optional<NodeSnapshot> last_;
  absl::Time encoded_at_;  // when the last reading that was encoded was taken
};

void EncodePod(const Pod& pod, telemetry::v1::Pod& message);
Pod DecodePod(const telemetry::v1::Pod& pod, const WriterClock& clock);

// All of a snapshot, for who has seen none before.
telemetry::v1::Reading WholeReading(const NodeSnapshot& snapshot);

// Makes snapshots of them again, with times of the reader's clock. Not thread-safe.
class ReadingDecoder {
 public:
  // Whose readings they are; before the first of them.
  void SetNode(const telemetry::v1::Node& node);

  // INVALID_ARGUMENT: no writer of any version says this; the stream is of no use any more.
  absl::StatusOr<NodeSnapshot> Decode(const telemetry::v1::Reading& reading,
                                      const WriterClock& clock);

  // Of the reading that was decoded last.
  const ReadingWeight& weight() const { return weight_; }

  // The last snapshot as it was found again then, by the writer's clock; null when there is none,
  // or it was taken later. Stands until the next call.
  const NodeSnapshot* Unchanged(int64_t until_us, const WriterClock& clock);

 private:
  // What is later by the writer's clock is later here, though the offset of a later message may be
  // the smaller one: else it would be taken for what is told twice.
  absl::Time At(const telemetry::v1::Reading& reading, const WriterClock& clock) const;
  absl::Status Change(const telemetry::v1::Reading& reading, const WriterClock& clock,
                      NodeSnapshot& snapshot) const;

  telemetry::v1::Node node_;
  std::optional<NodeSnapshot> last_;
  ReadingWeight weight_;
  int64_t last_us_ = std::numeric_limits<int64_t>::min();  // by the writer's clock
};

telemetry::v1::Node NodeOf(const NodeSnapshot& snapshot);

}  // namespace gpuscaler
