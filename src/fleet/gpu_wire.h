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
  // When the message came, on the reader's clock: no time in it can be later.
  absl::Time latest = absl::InfiniteFuture();

  absl::Time Ours(int64_t microseconds) const {
    return std::min(FromWire(microseconds) + offset, latest);
  }
};

// Look up a table of pairs: a value of an enum of ours, and the same one in messages.
template <typename Table>
auto TheirsOf(const Table& table, typename Table::value_type::first_type ours) {
  return std::ranges::find(table, ours, &Table::value_type::first)->second;  // has all of ours
}
// Empty: this version does not have it.
template <typename Table>
auto OursOf(const Table& table, typename Table::value_type::second_type theirs) {
  const auto row = std::ranges::find(table, theirs, &Table::value_type::second);
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

// Returns the steady memory after `before` and `gpu`, read at `at`: both ends assume it if none is
// sent (model/memory_watch.h).
SteadyMemory ExpectedMemory(const GpuSample& before, const GpuSample& gpu, absl::Time at);

}  // namespace gpuscaler
