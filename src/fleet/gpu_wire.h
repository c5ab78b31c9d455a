// A GPU as a message: the changes since the reading before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "model/gpu_sample.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Microseconds since 1970 on the writer's clock.
int64_t ToWire(absl::Time at);
absl::Time FromWire(int64_t microseconds);

// Converts the writer's times to the reader's clock.
struct WriterClock {
  absl::Duration offset;  // the reader's clock minus the writer's
  // When the message arrived, on the reader's clock: no time in it can be later.
  absl::Time latest = absl::InfiniteFuture();

  absl::Time ReaderTime(int64_t microseconds) const {
    return std::min(FromWire(microseconds) + offset, latest);
  }
};

// Converts an enum's value to that of messages. `table` has a pair of them for each value.
template <typename Table>
auto ToWireEnum(const Table& table, typename Table::value_type::first_type value) {
  return std::ranges::find(table, value, &Table::value_type::first)->second;
}
// Converts an enum's value of messages. Empty: this version does not have it.
template <typename Table>
auto FromWireEnum(const Table& table, typename Table::value_type::second_type sent) {
  const auto row = std::ranges::find(table, sent, &Table::value_type::second);
  return row == table.end() ? std::nullopt : std::optional(row->first);
}

bool IsSameGpu(const GpuSample& a, const GpuSample& b);

// Encodes all of `gpu`.
void EncodeGpu(const GpuSample& gpu, telemetry::v1::Gpu& message);

// Encodes the changes from `before` to `gpu`, read at `taken_at`. Returns false, and writes
// nothing, if there are none. Both must be of the same device.
bool EncodeGpuChange(const GpuSample& before, const GpuSample& gpu, absl::Time taken_at,
                     telemetry::v1::Gpu& message);

// Unknown fields and values are ignored.
GpuSample DecodeGpu(const telemetry::v1::Gpu& message, const WriterClock& clock);
void DecodeGpuChange(const telemetry::v1::Gpu& message, const WriterClock& clock, GpuSample& gpu);

// Returns the GPU without readings, holders and state, except whether it is free.
GpuSample IdentityOf(GpuSample gpu);

// Returns the steady memory that follows from `before` and `gpu`, read at `at`
// (model/memory_watch.h). A message omits a steady memory that is equal, and the reader computes
// it.
SteadyMemory ExpectedMemory(const GpuSample& before, const GpuSample& gpu, absl::Time at);

}  // namespace gpuscaler
