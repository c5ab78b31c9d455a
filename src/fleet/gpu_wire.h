// A GPU as a message: what changed since the reading before.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "model/gpu_sample.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Microseconds since 1970 by the clock of who wrote them.
int64_t ToWire(absl::Time at);
absl::Time FromWire(int64_t microseconds);

// How the writer's times become the reader's.
struct WriterClock {
  absl::Duration offset;  // what it lacks to the reader's
  // When the message came, by the reader's: nothing in it can be later.
  absl::Time latest = absl::InfiniteFuture();

  absl::Time Ours(int64_t microseconds) const {
    return std::min(FromWire(microseconds) + offset, latest);
  }
};

// Both of the same device.
bool IsSameGpu(const GpuSample& a, const GpuSample& b);

// All of `gpu`.
void EncodeGpu(const GpuSample& gpu, telemetry::v1::Gpu& message);

// What `gpu`, read at `taken_at`, shows that `before` did not; false, and nothing written: nothing.
// Both are the same device.
bool EncodeGpuChange(const GpuSample& before, const GpuSample& gpu, absl::Time taken_at,
                     telemetry::v1::Gpu& message);

// What this version does not know is passed over.
GpuSample DecodeGpu(const telemetry::v1::Gpu& message, const WriterClock& clock);
void DecodeGpuChange(const telemetry::v1::Gpu& message, const WriterClock& clock, GpuSample& gpu);

// The memory of `gpu`, read at `at`, after that of `before`: what both sides expect when none is
// sent (model/memory_watch.h).
SteadyMemory ExpectedMemory(const GpuSample& before, const GpuSample& gpu, absl::Time at);

}  // namespace gpuscaler
