// The points of one trigger, in blocks of an hour. A run of equal points is stored once, and of a
// point only the numbers that differ from the one before, as differences in thousandths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "history/history_point.h"

namespace gpuscaler {

// Not thread-safe.
class PointLog {
 public:
  // Requires a point later than the newest one. Steps between them have no record.
  void Append(const HistoryPoint& point);

  // Drops the blocks that end before `time`.
  void DropBefore(absl::Time time);

  bool empty() const { return blocks_.empty(); }
  // Both require that the log is not empty.
  absl::Time first_at() const;
  absl::Time last_at() const;

  // Returns a point for each step from `from` to `to`, both included. Those without a record have
  // only their time.
  std::vector<HistoryPoint> Read(absl::Time from, absl::Time to) const;

  // Returns the bytes on the heap.
  size_t bytes() const;

 private:
  // The last record of `bytes` is incomplete: `newest` and `run` are what it will hold.
  struct Block {
    int64_t first = 0;  // steps since the epoch
    std::string bytes;
  };
  static void Decode(const Block& block, std::vector<HistoryPoint>& points, int64_t from,
                     int64_t to);
  void Flush();

  std::vector<Block> blocks_;  // oldest first
  HistoryPoint newest_;        // its time is that of the first point of the run
  int64_t newest_step_ = 0;    // of the last point of the run
  int run_ = 0;                // equal points that are not in the block's bytes yet
  HistoryPoint written_;       // the last point in the block's bytes
};

}  // namespace gpuscaler
