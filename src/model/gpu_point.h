// One GPU at one instant: the readings from which windows are computed. Other readings are kept
// for the newest instant only (model/gpu_sample.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/time/time.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

// Readings that a trigger can use over a window.
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
  kSmActivity,
  kDramActivity,
  kTensorActivity,
};
constexpr size_t kGpuReadings = 13;

// Returns the field with the gap that explains an empty reading.
GpuField FieldOf(GpuReading reading);

class GpuPoint {
 public:
  explicit GpuPoint(const GpuSample& gpu);

  // Precise to the seven digits of a float. Empty: not read, or absent on this device.
  std::optional<double> Value(GpuReading reading) const {
    if (StateOf(reading) != State::kRead) return std::nullopt;
    return values_[static_cast<size_t>(reading)];
  }

  // Returns true if the device has the reading, even if it failed this time or was not requested.
  bool Has(GpuReading reading) const { return StateOf(reading) != State::kUnsupported; }

  bool in_use() const { return (bits_ & kInUse) != 0; }
  absl::Time held_since() const {
    return held_since_nanos_ == kInfinitePast ? absl::InfinitePast()
                                              : absl::FromUnixNanos(held_since_nanos_);
  }

  // Returns true if both differ in numbers at most: same use, same holder, same readings missing.
  bool EqualsExceptNumbers(const GpuPoint& other) const {
    return bits_ == other.bits_ && held_since_nanos_ == other.held_since_nanos_;
  }
  // An empty reading is 0.
  float Number(size_t reading) const { return values_[reading]; }

  friend bool operator==(const GpuPoint&, const GpuPoint&) = default;

 private:
  enum class State : uint32_t { kUnsupported, kRead, kFailed, kNotRequested };
  static constexpr int64_t kInfinitePast = std::numeric_limits<int64_t>::min();
  static constexpr uint32_t kInUse = 1u << (2 * kGpuReadings);  // above two bits a reading

  static State StateIn(const GpuSample& gpu, GpuReading reading, bool read);
  State StateOf(GpuReading reading) const {
    return static_cast<State>(bits_ >> (2 * static_cast<unsigned>(reading)) & 3);
  }

  int64_t held_since_nanos_;  // since the epoch; the minimum means InfinitePast
  std::array<float, kGpuReadings> values_ = {};
  uint32_t bits_ = 0;
};
static_assert(sizeof(GpuPoint) == 64);

}  // namespace gpuscaler
