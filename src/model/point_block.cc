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

bool IsByte(float value) {
  return value >= 0 && value <= 255 && value == static_cast<float>(static_cast<uint8_t>(value));
}

}  // namespace

PointBlock::PointBlock(std::shared_ptr<const NodeLayout> layout, const NodePoints& first,
                       const PointBlock* before) {
  const size_t columns = first.gpus.size() * kGpuReadings + first.shares.size();
  std::vector<Slot> slots(columns, Slot{.place = Place::kConstants, .index = 0});
  if (before != nullptr && before->columns() == columns) {
    slots = before->SlotsAfter(first);
    const bool full = before->size_ == before->capacity_;
    capacity_ = std::min(full ? 2 * before->capacity_ : before->size_, kMaxInstants);
    if (slots == before->columns_->slots && before->Fits(first)) columns_ = before->columns_;
  }
  const auto count = [&slots](Place place) {
    return static_cast<size_t>(
        std::ranges::count_if(slots, [place](Slot slot) { return slot.place == place; }));
  };
  bytes_.resize(count(Place::kBytes) * capacity_);
  floats_.resize(count(Place::kFloats) * capacity_);
  if (columns_ == nullptr) {
    columns_ = std::make_shared<const Columns>(
        Columns{.layout = std::move(layout), .constants = first, .slots = std::move(slots)});
  }
  AppendCells(first);
}

float PointBlock::CellOf(const NodePoints& points, size_t column) {
  const size_t gpu = column / kGpuReadings;
  if (gpu < points.gpus.size()) return points.gpus[gpu].Number(column % kGpuReadings);
  return points.shares[column - points.gpus.size() * kGpuReadings];
}

// Returns true if the block can have an instant with these points.
bool PointBlock::Fits(const NodePoints& points) const {
  if (!EqualExceptNumbers(columns_->constants, points)) return false;
  for (size_t column = 0; column < columns(); ++column) {
    const Place place = columns_->slots[column].place;
    if (place == Place::kFloats) continue;
    const float cell = CellOf(points, column);
    if (place == Place::kBytes ? !IsByte(cell) : cell != CellOf(columns_->constants, column)) {
      return false;
    }
  }
  return true;
}

bool PointBlock::HasChanged(size_t column) const {
  if (columns_->slots[column].place == Place::kConstants) return false;
  for (uint32_t instant = 1; instant < size_; ++instant) {
    if (At(column, instant) != At(column, 0)) return true;
  }
  return false;
}

bool PointBlock::HasOnlyBytes(size_t column) const {
  for (uint32_t instant = 0; instant < size_; ++instant) {
    if (!IsByte(At(column, instant))) return false;
  }
  return true;
}

// Returns the slots of the next block. It stores by instant each column that differs from the last
// instant of this block, and each that this block stores so. After kMaxInstants instants that did
// not change it, a column is constant again, and after as many that fit a byte it has bytes again.
// A full block is followed by one of twice the capacity, any other by one of its size.
std::vector<PointBlock::Slot> PointBlock::SlotsAfter(const NodePoints& next) const {
  const bool is_long_enough = size_ == kMaxInstants;
  std::vector<Slot> slots(columns(), Slot{.place = Place::kConstants, .index = 0});
  uint32_t bytes = 0;
  uint32_t floats = 0;
  for (size_t column = 0; column < columns(); ++column) {
    const Place place = columns_->slots[column].place;
    const float cell = CellOf(next, column);
    const bool was_changing = is_long_enough ? HasChanged(column) : place != Place::kConstants;
    if (!was_changing && cell == At(column, size_ - 1)) continue;
    const bool may_be_bytes = place != Place::kFloats || is_long_enough;
    slots[column] = may_be_bytes && IsByte(cell) && HasOnlyBytes(column)
                        ? Slot{.place = Place::kBytes, .index = bytes++}
                        : Slot{.place = Place::kFloats, .index = floats++};
  }
  return slots;
}

bool PointBlock::Append(const NodePoints& next) {
  if (size_ == capacity_ || !Fits(next)) return false;
  AppendCells(next);
  return true;
}

void PointBlock::AppendCells(const NodePoints& points) {
  for (size_t column = 0; column < columns(); ++column) {
    const Slot slot = columns_->slots[column];
    const size_t cell = size_t{slot.index} * capacity_ + size_;
    if (slot.place == Place::kBytes) bytes_[cell] = static_cast<uint8_t>(CellOf(points, column));
    if (slot.place == Place::kFloats) floats_[cell] = CellOf(points, column);
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
