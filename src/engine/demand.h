// Demand in replicas: arrivals per second divided by the requests per second that one replica
// serves at its capacity. It is linear in the load. Requests in flight and KV cache are convex in
// the load and make the HPA scale in too far.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "engine/replica_capacity.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// How long after its last reading an engine counts as present. A present engine without a reading
// for longer keeps its last rate, as one replica at most.
inline constexpr absl::Duration kPresentAfterReading = absl::Seconds(15);

struct EngineDemandInput {
  const EngineDemand* sums = nullptr;  // null: never read
  std::string gpu_model;               // empty: unknown
  bool is_present = true;              // false: it left; its earlier arrivals still count
  bool is_of_newest_template = true;
  bool is_frozen = false;  // its requests in flight have not changed and count as none
  // A gateway holds requests and serves none. Held requests wait, and a request that leaves the
  // gateway arrives at an engine, so the sum of both counts each request once.
  bool is_gateway = false;
  std::optional<double> limit;  // largest batch; empty: unknown
};

struct Demand {
  std::optional<double> replicas;  // rho including the backlog; empty: unknown
  // "capacity unknown: set maxConcurrency or tpotSloMs". If `replicas` is set as well, one replica
  // is needed for the requests held by a gateway, and the number of further ones is unknown.
  std::string unknown_because;
  double arrivals_per_second = 0;  // lambda
  absl::Duration window;           // time in which they arrived
  double tokens_per_answer = 0;
  double backlog = 0;                       // in replicas; part of `replicas`
  int engines = 0;                          // present; their arrivals are counted or estimated
  std::vector<ReplicaCapacity> capacities;  // one per GPU model

  friend bool operator==(const Demand&, const Demand&) = default;
};

// No reading may be later than `now`. If a gateway holds requests and no engine is present,
// `replicas` is at least 1.
Demand DemandOf(std::span<const EngineDemandInput> engines, std::optional<absl::Duration> tpot_slo,
                absl::Time now);

// Returns one line for users, without a newline: "demand: 3.31 replicas: 28.1 requests/s of ...".
std::string DemandText(const Demand& demand);

}  // namespace gpuscaler
