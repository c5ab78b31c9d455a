// The points of one trigger, in blocks of an hour. A run of equal points is stored once, and of a
// point only the numbers that differ from the one before, as differences in thousandths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "web/history_point.h"

namespace gpuscaler {

// Not thread-safe.
class PointLog {
 public:
  // Requires a point later than the newest one. Steps between them have no record.
  void Append(const HistoryPoint& point);

  // Drops the blocks with no point at or after `time`.
  void DropBefore(absl::Time time);

  bool empty() const { return blocks_.empty(); }
  // Both require that the log is not empty.
  absl::Time first_at() const;
  absl::Time last_at() const;

  // Returns a point for each step from `from` to `to`, both included. Those without a record have
  // only their time.
  std::vector<HistoryPoint> Read(absl::Time from, absl::Time to) const;

  size_t bytes() const;  // on the heap

 private:
  static constexpr size_t kColumns = 13;
  // A point's numbers, as integers. All are empty if there is no record.
  using Cells = std::array<std::optional<int64_t>, kColumns>;

  struct Block {
    int64_t first = 0;  // step: time since the epoch / kHistoryStep
    std::vector<uint8_t> bytes;
  };

  static int64_t StepOf(absl::Time time);
  static absl::Time TimeOf(int64_t step);
  static Cells CellsOf(const HistoryPoint& point);
  static HistoryPoint PointOf(int64_t step, const Cells& cells);
  static void Decode(const Block& block, int64_t from, std::vector<HistoryPoint>& points);

  // Appends `count` equal points.
  void Extend(const Cells& cells, int64_t count);
  // Writes the open run into the newest block.
  void Flush();

  std::vector<Block> blocks_;  // oldest first
  int64_t newest_step_ = 0;
  // The run of equal points that ends with the newest point. It is not in its block's bytes yet.
  Cells run_cells_;
  int64_t run_ = 0;
  Cells written_;  // the last cells in the newest block's bytes
};

}  // namespace gpuscaler
