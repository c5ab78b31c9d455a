// The requests per second that one replica serves, computed from the sums of its engines.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// The capacity of one replica of a GPU model.
struct ReplicaCapacity {
  std::string gpu_model;
  double batch = 0;                // N, the largest batch that keeps the service level
  std::string bound_by;            // the bound on N, for users: "95 % of 64 requests"
  double planned_batch = 0;        // the batch at `requests_per_second`
  double requests_per_second = 0;  // mu: 91 % of the throughput at N

  friend bool operator==(const ReplicaCapacity&, const ReplicaCapacity&) = default;
};

// Returns the capacity at the largest batch that `limit`, the KV cache and `tpot_slo` allow, and at
// most three times the largest observed one. Returns nullopt if nothing bounds the batch, or if
// only the KV cache does and no batch came near that bound.
std::optional<ReplicaCapacity> CapacityOf(const std::string& gpu_model, const ServiceSums& sums,
                                          double tokens_per_answer, std::optional<double> limit,
                                          std::optional<absl::Duration> tpot_slo);

}  // namespace gpuscaler
