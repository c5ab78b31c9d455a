// Consecutive readings of a node's GPUs, stored by column. A column is one reading of one GPU, or
// one share. Constant columns are stored once; changing ones contiguously, because windows scan
// them. Whole numbers up to 255, as most percentages and degrees are, take a byte each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "model/gpu_point.h"

namespace gpuscaler {

struct NodeLayout;

// The readings of all GPUs at one instant.
struct NodePoints {
  std::vector<GpuPoint> gpus;  // in the order of the layout
  // One share for each holder of each GPU in turn. Empty if no GPU has several holders.
  std::vector<float> shares;

  friend bool operator==(const NodePoints&, const NodePoints&) = default;
};

// One thread appends. Meanwhile others may read the instants that they have received.
class PointBlock {
 public:
  // Upper limits of the memory per instant: for each column that may change, each GPU and each
  // share. They allow for the worst case: a constant column changes at every instant, so each
  // instant begins a block, and every other block has a capacity of two.
  static constexpr size_t kMaxBytesOfNumber = sizeof(uint32_t) + sizeof(float) * 3 / 2;
  static constexpr size_t kMaxBytesOfGpu = sizeof(GpuPoint) + kGpuReadings * kMaxBytesOfNumber;
  static constexpr size_t kMaxBytesOfShare = sizeof(float) + kMaxBytesOfNumber;

  // Stores the first instant. `before` is the block of the preceding instants: it shows which
  // columns change. If the same ones do, the new block shares its constants. Null: it has another
  // layout, or there is none.
  PointBlock(std::shared_ptr<const NodeLayout> layout, const NodePoints& first,
             const PointBlock* before);

  // Appends the next instant, of the same layout. Returns false, and appends nothing, if the block
  // is full or a constant column has changed. The instant then begins the next block.
  bool Append(const NodePoints& next);

  bool NewestIs(const NodePoints& points) const;

  uint32_t size() const { return size_; }  // instants
  const std::shared_ptr<const NodeLayout>& layout() const { return columns_->layout; }

  // The value is that of GpuPoint::Value(). Requires `instant` < size().
  std::optional<double> Value(size_t gpu, GpuReading reading, size_t instant) const {
    if (!Constants(gpu).Value(reading)) return std::nullopt;
    return At(gpu * kGpuReadings + static_cast<size_t>(reading), instant);
  }
  // Returns what is the same at all instants: everything but the numbers that change.
  const GpuPoint& Constants(size_t gpu) const { return columns_->constants.gpus[gpu]; }
  size_t gpus() const { return columns_->constants.gpus.size(); }

  bool has_shares() const { return !columns_->constants.shares.empty(); }
  float Share(size_t holder, size_t instant) const {
    return At(gpus() * kGpuReadings + holder, instant);
  }

 private:
  // The place of a column's values.
  enum class Place : uint32_t { kConstants, kBytes, kFloats };
  struct Slot {
    Place place : 2;
    uint32_t index : 30;  // among the columns of that place

    friend bool operator==(const Slot&, const Slot&) = default;
  };
  static_assert(sizeof(Slot) == sizeof(uint32_t));

  // Columns: the readings of the first GPU, of the second, ..., then the shares. Consecutive blocks
  // share this while the same columns change.
  struct Columns {
    std::shared_ptr<const NodeLayout> layout;
    NodePoints constants;  // the numbers of the changing columns are unused
    std::vector<Slot> slots;
  };

  size_t columns() const { return columns_->slots.size(); }
  static float CellOf(const NodePoints& points, size_t column);
  float At(size_t column, size_t instant) const {
    const Slot slot = columns_->slots[column];
    if (slot.place == Place::kConstants) return CellOf(columns_->constants, column);
    const size_t cell = size_t{slot.index} * capacity_ + instant;
    return slot.place == Place::kBytes ? bytes_[cell] : floats_[cell];
  }
  bool Fits(const NodePoints& points) const;
  bool HasChanged(size_t column) const;
  bool HasOnlyBytes(size_t column) const;
  std::vector<Slot> SlotsAfter(const NodePoints& next) const;
  void AppendCells(const NodePoints& points);

  std::shared_ptr<const Columns> columns_;  // constant after construction, as capacity_ is
  uint32_t capacity_ = 1;                   // instants
  // Column by column. Cells beyond size_ are used by the writer only.
  std::vector<uint8_t> bytes_;
  std::vector<float> floats_;
  uint32_t size_ = 0;  // used by the writer only
};

// A view of one GPU at one instant. Requires that the block outlives it. Default-constructed: the
// GPU was absent.
class GpuPointView {
 public:
  GpuPointView() = default;
  GpuPointView(const PointBlock& block, size_t gpu, uint32_t instant)
      : block_(&block), gpu_(static_cast<uint32_t>(gpu)), instant_(instant) {}

  bool exists() const { return block_ != nullptr; }

  // As in GpuPoint. Requires exists().
  std::optional<double> Value(GpuReading reading) const {
    return block_->Value(gpu_, reading, instant_);
  }
  bool Has(GpuReading reading) const { return block_->Constants(gpu_).Has(reading); }
  bool in_use() const { return block_->Constants(gpu_).in_use(); }
  absl::Time held_since() const { return block_->Constants(gpu_).held_since(); }

  friend bool operator==(const GpuPointView& a, const GpuPointView& b);

 private:
  const PointBlock* block_ = nullptr;
  uint32_t gpu_ = 0;
  uint32_t instant_ = 0;
};

}  // namespace gpuscaler
