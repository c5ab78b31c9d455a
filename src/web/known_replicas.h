// Detects replicas that replace others, as in a rollout, from successive decisions of one trigger.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "scaling/decision.h"

namespace gpuscaler {

// Returns true if the contribution is one of Decision::replicas.
bool IsCounted(const Contribution& contribution);

// A replica that was counted, by hashes.
struct KnownReplica {
  size_t name = 0;
  size_t pod = 0;           // Contribution::uid_hash; 0: not known
  size_t pod_template = 0;  // TemplateOf() the name; 0: it has none
  absl::Time counted_at;    // when it was counted last
};

// Returns the replicas that count, in the order of `name`, each name once. Several replicas may
// have the same one.
std::vector<KnownReplica> CountedReplicas(const Decision& decision, absl::Time at);

// The replicas of one trigger that were counted within kKept. Not thread-safe.
class KnownReplicas {
 public:
  // A replica that ended longer ago is replaced by none. A rollout may delete the old pods first,
  // and large models take minutes to load.
  static constexpr absl::Duration kKept = absl::Minutes(15);
  // Replaced replicas of a larger workload are not counted. So at most 40 KB are kept for a
  // trigger, whatever the names are.
  static constexpr size_t kMostReplicas = 1'000;

  // Returns how many counted replicas of the decision replace another one:
  // - one with a known name and the UID of another pod;
  // - one of a new pod template (TemplateOf), while replicas of others are known. Only as many
  // count as there were of the others, so that a scale-out after the rollout does not;
  // - one with a new name, if as many replicas were counted by the last decision.
  // Otherwise a replica with a new name is a scale-out. Requires a decision that is OK and counts
  // replicas. `at` must increase.
  int CountReplaced(const Decision& decision, absl::Time at);

 private:
  // Returns how many of the known replicas are of another template. Those that just ended are
  // included, because a rollout without surge deletes a pod before each new one.
  size_t CountOfOthers(size_t pod_template) const;
  // Returns true if the replica has the newest template and replaces one with an older template.
  // Requires a replica with a new name.
  bool TakesPlace(const KnownReplica& added);

  // In the order of `name`, each name once. Those that the last decision counted, and unless there
  // are more than kMostReplicas, those that were counted within kKept before.
  std::vector<KnownReplica> known_;
  absl::Time decided_at_ = absl::InfinitePast();  // the last decision
  size_t newest_template_ = 0;  // that the last rollout brought; 0: none has begun
  size_t to_replace_ = 0;       // how many replicas it may still replace
};

}  // namespace gpuscaler
