// Samples of GPUs that are there but answer nothing.
#pragma once

#include <string>

#include "model/costly_readings.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

// The same device with nothing but gaps: one for each field that `before` has or had a gap for, so
// that what the device lacks stays lacking. Costly readings that are not `wanted` stay not
// requested.
GpuSample UnreadableGpu(const GpuSample& before, const std::string& detail,
                        const CostlyReadings& wanted);

// A GPU that has never answered: every field is a gap, and its UUID is UnknownGpuUuid's.
GpuSample UnknownGpu(int index, const std::string& detail);

// Adds a gap for each field that `gpu` lacks and `before` had, or had a gap for.
void AddGaps(const GpuSample& before, const std::string& detail, GpuSample& gpu);

// Returns true if no field has a value: UnreadableGpu() and UnknownGpu() made it.
bool IsUnreadable(const GpuSample& gpu);

}  // namespace gpuscaler
