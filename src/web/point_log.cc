#include "web/point_log.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/status/status.h"

namespace gpuscaler {
namespace {

constexpr int64_t kBlockSteps = 240;  // an hour
constexpr size_t kGrowth = 64;  // bytes; a vector's own growth would leave half of them unused

struct NumberColumn {
  std::optional<double> HistoryPoint::*number;
  int scale;  // the cell is the number times this, rounded
};

// Those that change most often come first: the mask of a record then takes one byte.
constexpr NumberColumn kNumberColumns[] = {
    {&HistoryPoint::value, 1000},    {&HistoryPoint::demand, 1000}, {&HistoryPoint::replicas, 1},
    {&HistoryPoint::starting, 1},    {&HistoryPoint::gpus, 1},      {&HistoryPoint::replaced, 1},
    {&HistoryPoint::capacity, 1000}, {&HistoryPoint::active, 1},    {&HistoryPoint::unreadable, 1},
    {&HistoryPoint::terminating, 1}, {&HistoryPoint::limit, 1000},  {&HistoryPoint::target, 1000},
};
constexpr size_t kCodeColumn = std::size(kNumberColumns);

// Differences between two cells fit into an int64.
constexpr double kLargestCell = 1e18;

std::optional<int64_t> CellOf(std::optional<double> number, int scale) {
  if (!number.has_value() || std::isnan(*number)) return std::nullopt;
  return std::llround(std::clamp(*number * scale, -kLargestCell, kLargestCell));
}

// LEB128, as protobuf's varint.
void PutVarint(uint64_t number, std::vector<uint8_t>& bytes) {
  if (bytes.size() == bytes.capacity()) bytes.reserve(bytes.size() + kGrowth);
  if (number < 0x80) return bytes.push_back(static_cast<uint8_t>(number));
  bytes.push_back(static_cast<uint8_t>(number | 0x80));
  PutVarint(number >> 7, bytes);
}

uint64_t TakeVarint(const std::vector<uint8_t>& bytes, size_t& at) {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = bytes[at++];
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
}

// 0 is an empty cell. Otherwise the difference to `before`, with small numbers for both signs.
uint64_t CodeOf(std::optional<int64_t> cell, std::optional<int64_t> before) {
  if (!cell.has_value()) return 0;
  const int64_t difference = *cell - before.value_or(0);
  const auto bits = static_cast<uint64_t>(difference);
  return 1 + (difference < 0 ? ~(bits << 1) : bits << 1);
}

std::optional<int64_t> CellOfCode(uint64_t code, std::optional<int64_t> before) {
  if (code == 0) return std::nullopt;
  const uint64_t bits = code - 1;
  const auto half = static_cast<int64_t>(bits >> 1);
  return before.value_or(0) + ((bits & 1) != 0 ? ~half : half);
}

}  // namespace

int64_t PointLog::StepOf(absl::Time time) {
  return absl::ToUnixSeconds(time) / absl::ToInt64Seconds(kHistoryStep);
}

absl::Time PointLog::TimeOf(int64_t step) { return absl::UnixEpoch() + step * kHistoryStep; }

PointLog::Cells PointLog::CellsOf(const HistoryPoint& point) {
  static_assert(kCodeColumn + 1 == kColumns);
  Cells cells;
  for (size_t i = 0; i < kCodeColumn; ++i) {
    cells[i] = CellOf(point.*kNumberColumns[i].number, kNumberColumns[i].scale);
  }
  if (point.code.has_value()) cells[kCodeColumn] = static_cast<int64_t>(*point.code);
  return cells;
}

HistoryPoint PointLog::PointOf(int64_t step, const Cells& cells) {
  HistoryPoint point{.at = TimeOf(step)};
  for (size_t i = 0; i < kCodeColumn; ++i) {
    if (!cells[i].has_value()) continue;
    point.*kNumberColumns[i].number = static_cast<double>(*cells[i]) / kNumberColumns[i].scale;
  }
  if (cells[kCodeColumn].has_value()) {
    point.code = static_cast<absl::StatusCode>(*cells[kCodeColumn]);
  }
  return point;
}

absl::Time PointLog::first_at() const { return TimeOf(blocks_.front().first); }
absl::Time PointLog::last_at() const { return TimeOf(newest_step_); }

void PointLog::Append(const HistoryPoint& point) {
  const int64_t step = StepOf(point.at);
  const bool begins_block = blocks_.empty() || step >= blocks_.back().first + kBlockSteps;
  if (begins_block) {
    if (!blocks_.empty()) {
      Flush();
      blocks_.back().bytes.shrink_to_fit();
    }
    if (blocks_.size() == blocks_.capacity()) blocks_.reserve(blocks_.size() + 1);
    blocks_.push_back({.first = step, .bytes = {}});
    written_ = Cells();
  } else if (step > newest_step_ + 1) {
    Extend(Cells(), step - newest_step_ - 1);
  }
  Extend(CellsOf(point), 1);
  newest_step_ = step;
}

void PointLog::Extend(const Cells& cells, int64_t count) {
  if (run_ > 0 && cells != run_cells_) Flush();
  run_cells_ = cells;
  run_ += count;
}

// A record has the mask of the columns that changed, with a bit below it that is set if a run
// length follows, and then the changed cells.
void PointLog::Flush() {
  if (run_ == 0) return;
  std::vector<uint8_t>& bytes = blocks_.back().bytes;
  uint64_t mask = 0;
  for (size_t i = 0; i < kColumns; ++i) {
    if (run_cells_[i] != written_[i]) mask |= uint64_t{1} << i;
  }
  PutVarint(mask << 1 | (run_ > 1 ? 1 : 0), bytes);
  if (run_ > 1) PutVarint(static_cast<uint64_t>(run_), bytes);
  for (size_t i = 0; i < kColumns; ++i) {
    if (run_cells_[i] != written_[i]) PutVarint(CodeOf(run_cells_[i], written_[i]), bytes);
  }
  written_ = run_cells_;
  run_ = 0;
}

void PointLog::DropBefore(absl::Time time) {
  const int64_t step = StepOf(time);
  const auto kept = std::ranges::find_if(
      blocks_, [&](const Block& block) { return block.first + kBlockSteps > step; });
  blocks_.erase(blocks_.begin(), kept);
  if (newest_step_ < step) blocks_.clear();
  if (blocks_.empty()) run_ = 0;
}

// Replaces the points of the block from step `from` on. `points` has one for each step.
void PointLog::Decode(const Block& block, int64_t from, std::vector<HistoryPoint>& points) {
  const int64_t to = from + static_cast<int64_t>(points.size());
  Cells cells;
  int64_t step = block.first;
  for (size_t at = 0; at < block.bytes.size() && step < to;) {
    const uint64_t header = TakeVarint(block.bytes, at);
    const int64_t run = (header & 1) != 0 ? static_cast<int64_t>(TakeVarint(block.bytes, at)) : 1;
    for (size_t i = 0; i < kColumns; ++i) {
      if ((header >> (i + 1) & 1) == 0) continue;
      cells[i] = CellOfCode(TakeVarint(block.bytes, at), cells[i]);
    }
    for (const int64_t end = step + run; step < end; ++step) {
      if (step >= from && step < to)
        points[static_cast<size_t>(step - from)] = PointOf(step, cells);
    }
  }
}

std::vector<HistoryPoint> PointLog::Read(absl::Time from, absl::Time to) const {
  const int64_t first = StepOf(from + kHistoryStep - absl::Nanoseconds(1));
  const int64_t last = StepOf(to);
  if (last < first) return {};
  std::vector<HistoryPoint> points(static_cast<size_t>(last - first + 1));
  for (int64_t step = first; step <= last; ++step) {
    points[static_cast<size_t>(step - first)].at = TimeOf(step);
  }
  for (const Block& block : blocks_) {
    if (block.first <= last && block.first + kBlockSteps > first) Decode(block, first, points);
  }
  for (int64_t step = std::max(first, newest_step_ - run_ + 1);
       step <= std::min(last, newest_step_); ++step) {
    points[static_cast<size_t>(step - first)] = PointOf(step, run_cells_);
  }
  return points;
}

size_t PointLog::bytes() const {
  size_t bytes = blocks_.capacity() * sizeof(Block);
  for (const Block& block : blocks_) bytes += block.bytes.capacity();
  return bytes;
}

}  // namespace gpuscaler
