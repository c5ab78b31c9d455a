// Divides the time of a node's GPUs among states and workloads, reading by reading.
#pragma once

#include <cstdint>
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
  absl::Duration stale_after = absl::Seconds(5);
};

// Returns the workload that owns a pod: the last of its owner references, as a Deployment owns a
// ReplicaSet, or the most likely owner by the pod's name. Without any it is the pod itself.
std::string WorkloadName(const Pod& pod);

// Returns true if `pod`, which holds the GPU, is not Ready yet or, without the Pods API, still
// loads its model.
bool IsStarting(const Pod& pod, const GpuSample& gpu, absl::Time at);

// The GPU time between the first and the newest reading is booked once, to the microsecond: the
// states of a GPU add up to the time that passed. Each reading's GPUs count for the time since the
// previous reading. Time that no reading covers is unknown. Not thread-safe.
class GpuTime {
 public:
  using Book = absl::FunctionRef<void(const UsageKey& key, GpuState state, int64_t micros)>;

  explicit GpuTime(const GpuTimeLimits& limits) : limits_(limits) {}

  // Books the time up to `at`, when this reading was made or repeated. No time passes if `at` is
  // not later than before.
  void Add(const NodeSnapshot& snapshot, absl::Time at, Book book);

  // Books the time up to `now` less `stale_after` as unknown: no later reading can cover it. The
  // GPUs are those of the newest reading. No effect before the first reading.
  void BookMissing(absl::Time now, Book book);

 private:
  // A GPU or instance since its utilization was last above 0.
  struct Activity {
    std::vector<std::string> holders;                // sorted; empty: none, or unknown
    absl::Time zero_since = absl::InfiniteFuture();  // InfiniteFuture: it is not at 0
    absl::Time zero_until = absl::InfinitePast();
  };
  struct Part {
    UsageKey key;
    GpuState state;
    double fraction;
  };

  void Track(const NodeSnapshot& snapshot, absl::Time at, absl::Time covered_since);
  GpuState StateOf(const NodeSnapshot& snapshot, const GpuSample& gpu, absl::Time at) const;
  // Divides a GPU or instance among its holders. Without any, its one part has the key `unheld`.
  std::vector<Part> PartsOf(const NodeSnapshot& snapshot, const GpuSample& gpu,
                            const UsageKey& unheld, absl::Time at) const;
  void BookUnknown(int64_t micros, Book book) const;

  const GpuTimeLimits limits_;
  std::map<std::string, Activity> activities_;  // key: uuid
  std::vector<UsageKey> whole_;                 // one for each whole GPU of the newest reading
  int64_t booked_until_micros_ = 0;             // since the epoch
  bool has_reading_ = false;
};

}  // namespace gpuscaler
