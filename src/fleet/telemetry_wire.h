// The readings of a node as messages, each the change since the one before.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/node_snapshot.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Identity and names go into the first message only, and a number only when it changed: 8 GPUs of
// which each shows one new number take about 110 bytes. Not thread-safe.
class ReadingEncoder {
 public:
  // Empty: it shows what the one before showed.
  std::optional<telemetry::v1::Reading> Encode(const NodeSnapshot& snapshot);

 private:
  std::optional<NodeSnapshot> last_;
  absl::Time encoded_at_;  // when the last reading that was encoded was taken
};

// All of a snapshot, for who has seen none before.
telemetry::v1::Reading WholeReading(const NodeSnapshot& snapshot);

// Makes snapshots of them again, with times of the reader's clock. Not thread-safe.
class ReadingDecoder {
 public:
  // Whose readings they are; before the first of them.
  void SetNode(const telemetry::v1::Node& node);

  // `offset` is what the writer's clock lacks to the reader's. INVALID_ARGUMENT: no writer of
  // any version says this; the stream is of no use any more.
  absl::StatusOr<NodeSnapshot> Decode(const telemetry::v1::Reading& reading, absl::Duration offset);

  // The last snapshot as it was found again at `until`, by the reader's clock; empty when there is
  // none, or it was taken later.
  std::optional<NodeSnapshot> Unchanged(absl::Time until);

 private:
  // Never before the last one, though the offset of a later message may be the smaller one.
  absl::Time At(const telemetry::v1::Reading& reading, absl::Duration offset) const;
  absl::Status Change(const telemetry::v1::Reading& reading, absl::Duration offset,
                      NodeSnapshot& snapshot) const;

  telemetry::v1::Node node_;
  std::optional<NodeSnapshot> last_;
};

telemetry::v1::Node NodeOf(const NodeSnapshot& snapshot);

}  // namespace gpuscaler
