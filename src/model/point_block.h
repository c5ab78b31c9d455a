// What a node's GPUs showed at instants that followed each other. Most of it stands from one to the
// next and is kept once; of each number that moves the instants lie side by side, as windows want
// them.
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

// What the GPUs showed at an instant.
struct NodePoints {
  std::vector<GpuPoint> gpus;  // as in the layout
  // Of every holder of every GPU in turn; empty where each GPU has one holder at most.
  std::vector<float> shares;

  friend bool operator==(const NodePoints&, const NodePoints&) = default;
};

// One thread appends, others read the instants of which they know meanwhile.
class PointBlock {
 public:
  // What blocks take of an instant at the most, of each number that may move and of each GPU. Where
  // what stands moves every time, each instant begins a block, and every other one has room for
  // two.
  static constexpr size_t kMostBytesOfNumber = sizeof(int32_t) + sizeof(float) * 3 / 2;
  static constexpr size_t kMostBytesOfGpu = sizeof(GpuPoint) + kGpuReadings * kMostBytesOfNumber;
  static constexpr size_t kMostBytesOfShare = sizeof(float) + kMostBytesOfNumber;

  // The first instant. `before`, the block of the instants before, tells how much moves; null: it
  // has another layout, or there is none.
  PointBlock(std::shared_ptr<const NodeLayout> layout, NodePoints first, const PointBlock* before);

  // The next instant, of the same layout. False: not taken, for there is no room, or something has
  // moved that stood: it is the first of another block.
  bool Append(const NodePoints& next);

  // Whether the newest instant is just so.
  bool NewestIs(const NodePoints& points) const;

  uint32_t size() const { return size_; }  // instants
  const std::shared_ptr<const NodeLayout>& layout() const { return layout_; }

  // As of GpuPoint, of an instant below size().
  std::optional<double> Value(size_t gpu, GpuReading reading, size_t instant) const {
    if (!standing_.gpus[gpu].Value(reading)) return std::nullopt;
    return At(gpu * kGpuReadings + static_cast<size_t>(reading), instant);
  }
  const GpuPoint& Standing(size_t gpu) const { return standing_.gpus[gpu]; }
  size_t gpus() const { return standing_.gpus.size(); }

  bool has_shares() const { return !standing_.shares.empty(); }
  float Share(size_t holder, size_t instant) const {
    return At(standing_.gpus.size() * kGpuReadings + holder, instant);
  }

 private:
  static constexpr int32_t kStands = -1;

  // Numbers are those of each GPU, by its readings, and then the shares.
  size_t numbers() const { return row_of_.size(); }
  static float NumberOf(const NodePoints& points, size_t number);
  float At(size_t number, size_t instant) const {
    const int32_t row = row_of_[number];
    if (row == kStands) return NumberOf(standing_, number);
    return moving_[static_cast<size_t>(row) * room_ + instant];
  }
  bool HasMoved(size_t number) const;
  bool Fits(const NodePoints& next) const;
  void LetMove(const NodePoints& first, const PointBlock& before);
  void Put(const NodePoints& points);

  const std::shared_ptr<const NodeLayout> layout_;
  const NodePoints standing_;    // the first instant
  uint32_t room_ = 1;            // instants; it and row_of_ are set by the constructor alone
  std::vector<int32_t> row_of_;  // each number's row of moving_, or kStands
  std::vector<float> moving_;    // row by row; what lies behind size_ is the writer's alone
  uint32_t size_ = 0;            // the writer's alone
};

// A GPU at one instant of a block, which outlives it; without a block: it was not there.
class StoredPoint {
 public:
  StoredPoint() = default;
  StoredPoint(const PointBlock& block, size_t gpu, uint32_t instant)
      : block_(&block), gpu_(static_cast<uint32_t>(gpu)), instant_(instant) {}

  bool is_there() const { return block_ != nullptr; }

  // As of GpuPoint; of one that is there.
  std::optional<double> Value(GpuReading reading) const {
    return block_->Value(gpu_, reading, instant_);
  }
  bool Has(GpuReading reading) const { return block_->Standing(gpu_).Has(reading); }
  bool in_use() const { return block_->Standing(gpu_).in_use(); }
  absl::Time held_since() const { return block_->Standing(gpu_).held_since(); }

  // Whether both show the same.
  friend bool operator==(const StoredPoint& a, const StoredPoint& b);

 private:
  const PointBlock* block_ = nullptr;
  uint32_t gpu_ = 0;
  uint32_t instant_ = 0;
};

// All of a node's GPUs at one instant of a block, which outlives it.
class StoredPoints {
 public:
  StoredPoints(const PointBlock& block, uint32_t instant) : block_(&block), instant_(instant) {}

  size_t size() const { return block_->gpus(); }
  StoredPoint operator[](size_t gpu) const { return {*block_, gpu, instant_}; }

  bool has_shares() const { return block_->has_shares(); }
  float share(size_t holder) const { return block_->Share(holder, instant_); }

 private:
  const PointBlock* block_;
  uint32_t instant_;
};

}  // namespace gpuscaler
