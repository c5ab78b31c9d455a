// The time of one step of continuous batching. A step generates one token of every request in the
// batch.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace gpuscaler {

// In seconds. A step reads the weights once (`base`) for all requests. Each request adds its
// sampling, each token of its KV cache is read, and prompts are computed in the same step.
struct StepCost {
  double base = 0;
  double per_request = 0;
  double per_kv_token = 0;
  double per_prefill_token = 0;

  absl::Duration Of(int64_t requests, int64_t kv_tokens, int64_t prefill_tokens) const {
    return absl::Seconds(base + per_request * static_cast<double>(requests) +
                         per_kv_token * static_cast<double>(kv_tokens) +
                         per_prefill_token * static_cast<double>(prefill_tokens));
  }

  // Each step takes 1/speed of its time.
  StepCost Faster(double speed) const {
    return {.base = base / speed,
            .per_request = per_request / speed,
            .per_kv_token = per_kv_token / speed,
            .per_prefill_token = per_prefill_token / speed};
  }

  // The line goes through the token rates of a request alone and of each request in a full batch.
  static constexpr StepCost Between(double tokens_per_second, double full_batch_tokens_per_second,
                                    int max_num_seqs) {
    const double alone = 1 / tokens_per_second;
    const double others = max_num_seqs > 1 ? max_num_seqs - 1 : 1;
    const double slope = (1 / full_batch_tokens_per_second - alone) / others;
    return {.base = alone - slope, .per_request = slope};
  }
};

}  // namespace gpuscaler
