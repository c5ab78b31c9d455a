// The states in which the time of a GPU is counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace gpuscaler {

enum class GpuState {
  kBusy,
  kIdle,      // held, and at 0 for --idle-after
  kStarting,  // held by a pod that is not Ready yet, or that still loads its model
  kFree,
  kUnknown,  // not read, or its holder is not known
};
constexpr size_t kGpuStates = 5;
constexpr std::array<GpuState, kGpuStates> kAllGpuStates = {
    GpuState::kBusy, GpuState::kIdle, GpuState::kStarting, GpuState::kFree, GpuState::kUnknown};
absl::string_view Name(GpuState state);  // "busy"

// GPU time in whole microseconds, so that sums are exact. 64 bits hold 292,000 years of a GPU.
class StateTimes {
 public:
  int64_t& operator[](GpuState state) { return micros_[static_cast<size_t>(state)]; }
  int64_t operator[](GpuState state) const { return micros_[static_cast<size_t>(state)]; }

  int64_t Total() const;
  void Add(const StateTimes& other);

  friend bool operator==(const StateTimes&, const StateTimes&) = default;

 private:
  std::array<int64_t, kGpuStates> micros_ = {};
};

}  // namespace gpuscaler
