#include "model/point_block.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

// Half a minute of readings, one a second: little room stays unused.
constexpr uint32_t kMostRoom = 32;

bool EqualExceptNumbers(const NodePoints& a, const NodePoints& b) {
  return a.shares.size() == b.shares.size() &&
         std::ranges::equal(a.gpus, b.gpus, [](const GpuPoint& one, const GpuPoint& other) {
           return one.EqualsExceptNumbers(other);
         });
}

}  // namespace

PointBlock::PointBlock(std::shared_ptr<const NodeLayout> layout, NodePoints first,
                       const PointBlock* before)
    : layout_(std::move(layout)), first_(std::move(first)) {
  row_of_.assign(first_.gpus.size() * kGpuReadings + first_.shares.size(), kConstant);
  if (before != nullptr && before->numbers() == numbers()) AssignRows(first_, *before);
  Put(first_);
}

float PointBlock::NumberOf(const NodePoints& points, size_t number) {
  const size_t gpu = number / kGpuReadings;
  if (gpu < points.gpus.size()) return points.gpus[gpu].Number(number % kGpuReadings);
  return points.shares[number - points.gpus.size() * kGpuReadings];
}

bool PointBlock::HasChanged(size_t number) const {
  if (row_of_[number] == kConstant) return false;
  const auto row = changing_.begin() + static_cast<std::ptrdiff_t>(row_of_[number]) * room_;
  return std::any_of(row, row + size_, [row](float value) { return value != *row; });
}

// Gives rows to the numbers that changed in the block before, if it was full, and since then. A
// full block is followed by a larger one.
void PointBlock::AssignRows(const NodePoints& first, const PointBlock& before) {
  const bool full = before.size_ == before.room_;
  room_ = std::min(full ? 2 * before.room_ : before.size_, kMostRoom);
  const bool reported = before.size_ == kMostRoom;
  int32_t rows = 0;
  for (size_t number = 0; number < numbers(); ++number) {
    const bool moved = reported ? before.HasChanged(number) : before.row_of_[number] != kConstant;
    if (moved || NumberOf(first, number) != before.At(number, before.size_ - 1)) {
      row_of_[number] = rows++;
    }
  }
  changing_.resize(static_cast<size_t>(rows) * room_);
}

bool PointBlock::Fits(const NodePoints& next) const {
  if (size_ == room_ || !EqualExceptNumbers(first_, next)) return false;
  for (size_t number = 0; number < numbers(); ++number) {
    if (row_of_[number] != kConstant) continue;
    if (NumberOf(next, number) != NumberOf(first_, number)) return false;
  }
  return true;
}

bool PointBlock::Append(const NodePoints& next) {
  if (!Fits(next)) return false;
  Put(next);
  return true;
}

void PointBlock::Put(const NodePoints& points) {
  for (size_t number = 0; number < numbers(); ++number) {
    if (row_of_[number] == kConstant) continue;
    changing_[static_cast<size_t>(row_of_[number]) * room_ + size_] = NumberOf(points, number);
  }
  ++size_;
}

bool PointBlock::NewestIs(const NodePoints& points) const {
  if (!EqualExceptNumbers(first_, points)) return false;
  for (size_t number = 0; number < numbers(); ++number) {
    if (NumberOf(points, number) != At(number, size_ - 1)) return false;
  }
  return true;
}

bool operator==(const StoredPoint& a, const StoredPoint& b) {
  if (a.block_ == nullptr || b.block_ == nullptr) return a.block_ == b.block_;
  if (!a.block_->First(a.gpu_).EqualsExceptNumbers(b.block_->First(b.gpu_))) return false;
  for (size_t i = 0; i < kGpuReadings; ++i) {
    const GpuReading reading = static_cast<GpuReading>(i);
    if (a.Value(reading) != b.Value(reading)) return false;
  }
  return true;
}

}  // namespace gpuscaler
