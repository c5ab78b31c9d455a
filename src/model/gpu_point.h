// One GPU at one instant: what windows are computed from. What else was read is kept of the newest
// instant only (model/gpu_sample.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/time/time.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

// The readings that a trigger can look back on.
enum class GpuReading {
  kUtilization,
  kMemoryUtilization,
  kMemoryUsedMib,
  kMemoryUsedPercent,
  kTemperature,
  kPower,
  kPcieTx,
  kPcieRx,
  kNvlinkTx,
  kNvlinkRx,
};
constexpr size_t kGpuReadings = 10;

// The field whose gap explains that the reading is empty.
GpuField FieldOf(GpuReading reading);

class GpuPoint {
 public:
  explicit GpuPoint(const GpuSample& gpu);

  // Empty: not read, or not there on this device. To a float's seven digits.
  std::optional<double> Value(GpuReading reading) const {
    if (StateOf(reading) != State::kRead) return std::nullopt;
    return values_[static_cast<size_t>(reading)];
  }

  // Whether the device has it, be it that this instant's reading failed or was not wanted.
  bool Has(GpuReading reading) const { return StateOf(reading) != State::kLacking; }

  bool in_use() const { return (bits_ & kInUse) != 0; }
  absl::Time held_since() const {
    return held_since_nanos_ == kInfinitePast ? absl::InfinitePast()
                                              : absl::FromUnixNanos(held_since_nanos_);
  }

  // The same but for its numbers: held since then, or not, and each reading there or missing.
  bool IsLike(const GpuPoint& other) const {
    return bits_ == other.bits_ && held_since_nanos_ == other.held_since_nanos_;
  }
  // A reading's number, 0 where it is empty.
  float Number(size_t reading) const { return values_[reading]; }

  friend bool operator==(const GpuPoint&, const GpuPoint&) = default;

 private:
  enum class State : uint32_t { kLacking, kRead, kFailed, kNotRequested };
  static constexpr int64_t kInfinitePast = std::numeric_limits<int64_t>::min();
  static constexpr uint32_t kInUse = 1u << (2 * kGpuReadings);  // above two bits a reading

  static State StateIn(const GpuSample& gpu, GpuReading reading, bool read);
  State StateOf(GpuReading reading) const {
    return static_cast<State>(bits_ >> (2 * static_cast<unsigned>(reading)) & 3);
  }

  int64_t held_since_nanos_;  // since the epoch; the least one: InfinitePast
  std::array<float, kGpuReadings> values_ = {};
  uint32_t bits_ = 0;
};
static_assert(sizeof(GpuPoint) == 56);

}  // namespace gpuscaler
