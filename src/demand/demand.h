// How many replicas the requests that arrive would fill: arrivals per second over what one replica
// serves per second at its capacity. Linear in the load, where requests in flight and KV cache are
// convex and let the HPA scale in too far.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "demand/replica_capacity.h"
#include "model/engine_demand.h"

namespace gpuscaler {

struct DemandEngine {
  const EngineDemand* sums = nullptr;  // null: it was never read
  std::string gpu_model;               // empty: not known
  bool is_present = true;              // false: it left; what it took before still counts
  bool is_of_newest_template = true;
  bool is_frozen = false;  // its requests in flight have not moved, and count as none
  // It is a gateway that holds requests and serves none. What it holds waits; what leaves it
  // arrives at an engine, so that the sum of both counts each request once.
  bool is_gateway = false;
  std::optional<double> limit;  // requests that it runs at once, as far as is known
};

struct Demand {
  std::optional<double> replicas;  // rho with the backlog; empty: not known
  // "capacity unknown: set maxConcurrency or tpotSloMs". With `replicas`: one is needed for the
  // requests that a gateway holds, and how many more is not known.
  std::string unknown_because;
  double arrivals_per_second = 0;  // lambda
  absl::Duration window;           // in which they arrived
  double tokens_per_answer = 0;
  double backlog = 0;                       // in replicas, part of `replicas`
  int engines = 0;                          // present, with their arrivals counted or estimated
  std::vector<ReplicaCapacity> capacities;  // one of each GPU model

  friend bool operator==(const Demand&, const Demand&) = default;
};

// `now`: no reading is later. While a gateway holds requests and no engine is present, at least one
// replica is needed.
Demand DemandOf(std::span<const DemandEngine> engines, std::optional<absl::Duration> tpot_slo,
                absl::Time now);

// One line for people, without its end: "demand: 3.31 replicas: 28.1 requests/s of ...".
std::string DemandText(const Demand& demand);

}  // namespace gpuscaler
