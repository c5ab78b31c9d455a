// The requests that one replica serves, from the sums that its engines show.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// One replica of a GPU model.
struct ReplicaCapacity {
  std::string gpu_model;
  double batch = 0;                // N, at which it keeps its service level
  std::string bound_by;            // N is bound by this, for people: "95 % of 64 requests"
  double planned_batch = 0;        // at which it serves `requests_per_second`
  double requests_per_second = 0;  // mu: 91 % of the throughput at N

  friend bool operator==(const ReplicaCapacity&, const ReplicaCapacity&) = default;
};

// Returns what a replica serves at the largest batch that `limit`, the KV cache and `tpot_slo`
// allow, and at three times the largest one seen at most. Empty if nothing bounds the batch, or the
// KV cache alone does and no batch came near it.
std::optional<ReplicaCapacity> CapacityOf(const std::string& gpu_model, const ServiceSums& sums,
                                          double tokens_per_answer, std::optional<double> limit,
                                          std::optional<absl::Duration> tpot_slo);

}  // namespace gpuscaler
