// Divides the time of a node's GPUs among states and workloads, reading by reading.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "cost/usage.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

struct GpuTimeLimits {
  absl::Duration idle_after = absl::Minutes(5);
  // A reading covers the time before it, back to the previous reading, but no more than this.
  absl::Duration stale_after;
};

// The GPU time between the first and the newest reading is booked once, to the microsecond. Each
// reading's GPUs count for the time since the previous reading. Time that no reading covers is
// unknown. Not thread-safe.
class GpuTime {
 public:
  // Receives more time of a workload, at most once for each part of a GPU.
  using Book = absl::FunctionRef<void(const UsageKey& key, GpuState state, int64_t micros)>;

  explicit GpuTime(const GpuTimeLimits& limits) : limits_(limits) {}

  // Books the time up to `at`, when this reading was made or repeated. Must not be called with an
  // earlier time than before; no time passes if it is equal.
  void Add(const NodeSnapshot& snapshot, absl::Time at, Book book);

  // Books the time up to `now` less `stale_after` as unknown: no later reading can cover it. The
  // number of GPUs is that of the newest reading. No effect before the first reading.
  void BookMissing(absl::Time now, Book book);

 private:
  struct Gpu {
    UsageKey unknown;  // key of its unknown time
    absl::Time held_since;
    std::vector<std::string> holders;
    absl::Time zero_since = absl::InfiniteFuture();  // utilization was 0 since; InfiniteFuture: not
    absl::Time zero_until = absl::InfinitePast();
  };

  const GpuTimeLimits limits_;
  std::map<std::string, Gpu> gpus_;  // whole GPUs and instances; key: uuid
  std::vector<UsageKey> whole_;      // one for each whole GPU of the newest reading
  int64_t reached_ = 0;              // microseconds since the epoch
  bool began_ = false;
};

}  // namespace gpuscaler
