#include "model/point_block.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

// Half a minute of readings, one a second: little capacity stays unused.
constexpr uint32_t kMaxInstants = 32;

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
  slot_of_.assign(first_.gpus.size() * kGpuReadings + first_.shares.size(), kConstant);
  if (before != nullptr && before->columns() == columns()) AssignSlots(first_, *before);
  AppendCells(first_);
}

float PointBlock::CellOf(const NodePoints& points, size_t column) {
  const size_t gpu = column / kGpuReadings;
  if (gpu < points.gpus.size()) return points.gpus[gpu].Number(column % kGpuReadings);
  return points.shares[column - points.gpus.size() * kGpuReadings];
}

bool PointBlock::HasChanged(size_t column) const {
  if (slot_of_[column] == kConstant) return false;
  const auto cell = cells_.begin() + static_cast<std::ptrdiff_t>(slot_of_[column]) * capacity_;
  return std::any_of(cell, cell + size_, [cell](float value) { return value != *cell; });
}

// Stores by instant each column that differs from the last instant of `before`, and each that
// `before` stored so. After kMaxInstants instants that did not change it, a column is constant
// again. A full block is followed by one of twice the capacity, any other by one of its size.
void PointBlock::AssignSlots(const NodePoints& first, const PointBlock& before) {
  const bool full = before.size_ == before.capacity_;
  capacity_ = std::min(full ? 2 * before.capacity_ : before.size_, kMaxInstants);
  const bool is_long_enough = before.size_ == kMaxInstants;
  int32_t slots = 0;
  for (size_t column = 0; column < columns(); ++column) {
    const bool was_changing =
        is_long_enough ? before.HasChanged(column) : before.slot_of_[column] != kConstant;
    if (was_changing || CellOf(first, column) != before.At(column, before.size_ - 1)) {
      slot_of_[column] = slots++;
    }
  }
  cells_.resize(static_cast<size_t>(slots) * capacity_);
}

bool PointBlock::Append(const NodePoints& next) {
  if (size_ == capacity_ || !EqualExceptNumbers(first_, next)) return false;
  for (size_t column = 0; column < columns(); ++column) {
    if (slot_of_[column] != kConstant) continue;
    if (CellOf(next, column) != CellOf(first_, column)) return false;
  }
  AppendCells(next);
  return true;
}

void PointBlock::AppendCells(const NodePoints& points) {
  for (size_t column = 0; column < columns(); ++column) {
    if (slot_of_[column] == kConstant) continue;
    cells_[static_cast<size_t>(slot_of_[column]) * capacity_ + size_] = CellOf(points, column);
  }
  ++size_;
}

bool PointBlock::NewestIs(const NodePoints& points) const {
  if (!EqualExceptNumbers(first_, points)) return false;
  for (size_t column = 0; column < columns(); ++column) {
    if (CellOf(points, column) != At(column, size_ - 1)) return false;
  }
  return true;
}

bool operator==(const GpuPointView& a, const GpuPointView& b) {
  if (a.block_ == nullptr || b.block_ == nullptr) return a.block_ == b.block_;
  if (!a.block_->First(a.gpu_).EqualsExceptNumbers(b.block_->First(b.gpu_))) return false;
  for (size_t i = 0; i < kGpuReadings; ++i) {
    const GpuReading reading = static_cast<GpuReading>(i);
    if (a.Value(reading) != b.Value(reading)) return false;
  }
  return true;
}

}  // namespace gpuscaler
