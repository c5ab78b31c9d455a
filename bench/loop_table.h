// The table of loop_bench: each policy in each cell, with means over the seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulate/closed_loop.h"
#include "simulate/keda.h"
#include "simulate/replica_policy.h"
#include "simulate/test_loop_load.h"

namespace gpuscaler {

inline constexpr int kFewest = 1, kMaxReplicas = 20;  // replicas

// The inputs of a policy: its engine, and the load if it is a clairvoyant.
struct Setting {
  const EnginePreset& preset;
  const LoopLoad* load = nullptr;  // null: unknown
  const LoopScenario& scenario;
  ScaledObjectSpec object = {.min_replica_count = kFewest, .max_replica_count = kMaxReplicas};
};

using MakePolicy = std::function<std::unique_ptr<ReplicaPolicy>(const Setting&)>;

struct NamedPolicy {
  std::string name;
  MakePolicy make;  // null: the fewest replicas that keep the goals
};

// One engine and load: the policies run one after the other on the same requests.
struct LoopCell {
  std::string engine, load;
  const EnginePreset* preset;
  const LoopLoad* known_load = nullptr;
  std::function<LoopScenario(uint64_t seed)> scenario;
  ScaledObjectSpec object = {.min_replica_count = kFewest, .max_replica_count = kMaxReplicas};
};

struct LoopOutcome {
  LoopTotals totals;
  std::optional<absl::Duration> until_enough;
  bool ran = false;
};

class LoopTable {
 public:
  LoopTable(std::vector<LoopCell> cells, std::vector<NamedPolicy> policies, int seeds);

  // Blocks until all cells have run, on all CPU cores. Names each on standard error.
  void Run();

  // Each cell, then the means of each load over its engines.
  std::string Text(bool markdown) const;

 private:
  void RunJob(size_t job);
  const LoopOutcome& Of(size_t cell, int seed, size_t policy) const;
  // Returns the row of one cell, or of all cells with one load.
  std::vector<std::string> Row(const std::vector<size_t>& cells, size_t policy) const;

  const std::vector<LoopCell> cells_;
  const std::vector<NamedPolicy> policies_;
  const int seeds_;
  std::vector<std::vector<LoopOutcome>> outcomes_;  // index: cell and seed, then policy
};

}  // namespace gpuscaler
