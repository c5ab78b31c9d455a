// Samples of GPUs that exist but do not answer.
#pragma once

#include <string>

#include "model/costly_readings.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

// Returns the same device with gaps only: one for each field with a value or a gap in `before`. A
// field that the device lacks stays without a gap. Expensive readings that are not `wanted` stay
// marked as not requested.
GpuSample UnreadableGpu(const GpuSample& before, const std::string& detail,
                        const CostlyReadings& wanted);

// The GPU has never answered: every field is a gap, and its UUID is UnknownGpuUuid's.
GpuSample UnknownGpu(int index, const std::string& detail);

// Adds a gap for each field that `gpu` lacks and `before` had, or had a gap for.
void AddGaps(const GpuSample& before, const std::string& detail, GpuSample& gpu);

// Returns true if no field has a value, as after UnreadableGpu() and UnknownGpu().
bool IsUnreadable(const GpuSample& gpu);

}  // namespace gpuscaler
