#include "engine_exposition.h"

#include "absl/strings/str_cat.h"

namespace gpuscaler {

std::string EngineExpositionOf(size_t bytes) {
  std::string page;
  for (int model = 0; page.size() < bytes; ++model) {
    const std::string labels =
        absl::StrCat("engine=\"0\",model_name=\"team/model-", model, "-8b\"");
    absl::StrAppend(&page, "# HELP vllm:num_requests_waiting Number of requests waiting.\n",
                    "# TYPE vllm:num_requests_waiting gauge\n", "vllm:num_requests_waiting{",
                    labels,
                    "} 12.0\n# HELP vllm:time_to_first_token_seconds Time to first token.\n",
                    "# TYPE vllm:time_to_first_token_seconds histogram\n");
    for (int bucket = 1; bucket <= 24; ++bucket) {
      absl::StrAppend(&page, "vllm:time_to_first_token_seconds_bucket{", labels, ",le=\"",
                      0.005 * bucket, "\"} ", 1000 * bucket, ".0\n");
    }
    absl::StrAppend(&page, "vllm:time_to_first_token_seconds_bucket{", labels,
                    ",le=\"+Inf\"} 24000.0\n");
    absl::StrAppend(&page, "vllm:generation_tokens_total{", labels, "} 1.234567e+06\n");
  }
  return page;
}

}  // namespace gpuscaler
