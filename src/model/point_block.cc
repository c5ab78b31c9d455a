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
                       const PointBlock* before) {
  const size_t columns = first.gpus.size() * kGpuReadings + first.shares.size();
  std::vector<int32_t> slot_of(columns, kConstant);
  if (before != nullptr && before->columns() == columns) {
    slot_of = before->SlotsAfter(first);
    const bool full = before->size_ == before->capacity_;
    capacity_ = std::min(full ? 2 * before->capacity_ : before->size_, kMaxInstants);
    if (slot_of == before->columns_->slot_of && before->HasConstants(first)) {
      columns_ = before->columns_;
    }
  }
  const auto changing =
      std::ranges::count_if(slot_of, [](int32_t slot) { return slot != kConstant; });
  cells_.resize(static_cast<size_t>(changing) * capacity_);
  if (columns_ == nullptr) {
    columns_ = std::make_shared<const Columns>(
        Columns{.layout = std::move(layout), .constants = first, .slot_of = std::move(slot_of)});
  }
  AppendCells(first);
}

float PointBlock::CellOf(const NodePoints& points, size_t column) {
  const size_t gpu = column / kGpuReadings;
  if (gpu < points.gpus.size()) return points.gpus[gpu].Number(column % kGpuReadings);
  return points.shares[column - points.gpus.size() * kGpuReadings];
}

bool PointBlock::HasChanged(size_t column) const {
  const int32_t slot = columns_->slot_of[column];
  if (slot == kConstant) return false;
  const auto cell = cells_.begin() + static_cast<std::ptrdiff_t>(slot) * capacity_;
  return std::any_of(cell, cell + size_, [cell](float value) { return value != *cell; });
}

bool PointBlock::HasConstants(const NodePoints& points) const {
  if (!EqualExceptNumbers(columns_->constants, points)) return false;
  for (size_t column = 0; column < columns(); ++column) {
    if (columns_->slot_of[column] != kConstant) continue;
    if (CellOf(points, column) != CellOf(columns_->constants, column)) return false;
  }
  return true;
}

// Returns the slots of the next block. It stores by instant each column that differs from the last
// instant of this block, and each that this block stores so. After kMaxInstants instants that did
// not change it, a column is constant again. A full block is followed by one of twice the capacity,
// any other by one of its size.
std::vector<int32_t> PointBlock::SlotsAfter(const NodePoints& next) const {
  const bool is_long_enough = size_ == kMaxInstants;
  std::vector<int32_t> slot_of(columns(), kConstant);
  int32_t slots = 0;
  for (size_t column = 0; column < columns(); ++column) {
    const bool was_changing =
        is_long_enough ? HasChanged(column) : columns_->slot_of[column] != kConstant;
    if (was_changing || CellOf(next, column) != At(column, size_ - 1)) slot_of[column] = slots++;
  }
  return slot_of;
}

bool PointBlock::Append(const NodePoints& next) {
  if (size_ == capacity_ || !HasConstants(next)) return false;
  AppendCells(next);
  return true;
}

void PointBlock::AppendCells(const NodePoints& points) {
  for (size_t column = 0; column < columns(); ++column) {
    const int32_t slot = columns_->slot_of[column];
    if (slot == kConstant) continue;
    cells_[static_cast<size_t>(slot) * capacity_ + size_] = CellOf(points, column);
  }
  ++size_;
}

bool PointBlock::NewestIs(const NodePoints& points) const {
  if (!EqualExceptNumbers(columns_->constants, points)) return false;
  for (size_t column = 0; column < columns(); ++column) {
    if (CellOf(points, column) != At(column, size_ - 1)) return false;
  }
  return true;
}

bool operator==(const GpuPointView& a, const GpuPointView& b) {
  if (a.block_ == nullptr || b.block_ == nullptr) return a.block_ == b.block_;
  if (!a.block_->Constants(a.gpu_).EqualsExceptNumbers(b.block_->Constants(b.gpu_))) return false;
  for (size_t i = 0; i < kGpuReadings; ++i) {
    const GpuReading reading = static_cast<GpuReading>(i);
    if (a.Value(reading) != b.Value(reading)) return false;
  }
  return true;
}

}  // namespace gpuscaler
