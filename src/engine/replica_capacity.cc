#include "engine/replica_capacity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "engine/token_time.h"

namespace gpuscaler {
namespace {

// A replica is planned for this share of the throughput at N: Poisson arrivals and the steps of the
// HPA need the rest. Compared with 0.85 to 0.95 in simulation. A share of N itself leaves no room
// if prompts take most of the time, because throughput then hardly grows with the batch.
constexpr double kPlannedShare = 0.91;
constexpr double kShareOfLimit = 0.95;
constexpr double kShareOfKv = 0.85;
constexpr double kShareOfTpot = 0.9;
// The fit is extrapolated up to this multiple of the largest observed batch. A smaller batch means
// a smaller capacity, so excess replicas fall by two thirds at a time while larger batches are
// observed. Without an estimate, the pressure took 20 replicas to 2 under a load for 9 (limit 256,
// tpotSloMs 30).
constexpr double kBeyondSeen = 3;

// Sets `batch` and `bound_by`. An infinite batch has no bound.
ReplicaCapacity BoundOf(const ServiceSums& sums, const TokenTime& time, std::optional<double> limit,
                        std::optional<absl::Duration> tpot_slo) {
  ReplicaCapacity bound{.batch = std::numeric_limits<double>::infinity()};
  const auto lower = [&bound](double batch, std::string by) {
    if (batch >= bound.batch) return;
    bound.batch = batch;
    bound.bound_by = std::move(by);
  };
  if (limit > 0.0) {
    lower(kShareOfLimit * *limit, absl::StrFormat("95 %% of a batch of %g", *limit));
  }
  const double kv_per_request =
      sums.kv_running_seconds > 0 ? sums.kv_seconds / sums.kv_running_seconds : 0;
  if (kv_per_request > 0) lower(kShareOfKv / kv_per_request, "85 % of the KV cache");
  if (tpot_slo.has_value() && time.slope > 0) {
    const double seconds = kShareOfTpot * absl::ToDoubleSeconds(*tpot_slo);
    lower(std::max(1.0, (seconds - time.base) / time.slope), "90 % of tpotSloMs");
  }
  if (!tpot_slo.has_value())
    bound.bound_by += ", however long a token takes: tpotSloMs is not given";
  return bound;
}

// Solves n / (base + slope * n) = `tokens_per_second` for n. With a base of 0 all batches generate
// equally many tokens.
double BatchAt(double tokens_per_second, const TokenTime& time, double most) {
  if (time.base <= 0) return most;
  return tokens_per_second * time.base / (1 - tokens_per_second * time.slope);
}

}  // namespace

std::optional<ReplicaCapacity> CapacityOf(const std::string& gpu_model, const ServiceSums& sums,
                                          double tokens_per_answer, std::optional<double> limit,
                                          std::optional<absl::Duration> tpot_slo) {
  const std::optional<TokenTime> time = TokenTimeOf(sums);
  if (!time.has_value()) return std::nullopt;
  ReplicaCapacity capacity = BoundOf(sums, *time, limit, tpot_slo);
  if (std::isinf(capacity.batch)) return std::nullopt;
  const double most = kBeyondSeen * sums.largest_batch;
  if (capacity.batch > most) {
    const bool is_given = limit > 0.0 || tpot_slo.has_value();
    if (!is_given) return std::nullopt;
    capacity.batch = most;
    capacity.bound_by = "three times the largest batch so far";
  }
  const double at_bound = time->At(capacity.batch);
  if (at_bound <= 0) return std::nullopt;
  const double tokens_per_second = kPlannedShare * capacity.batch / at_bound;
  capacity.gpu_model = gpu_model;
  capacity.planned_batch = BatchAt(tokens_per_second, *time, capacity.batch);
  capacity.requests_per_second = tokens_per_second / tokens_per_answer;
  return capacity;
}

}  // namespace gpuscaler
