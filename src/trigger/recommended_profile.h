// The profile that suits an inference engine, for triggers that name none.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct RecommendedProfile {
  absl::string_view engine;      // as the metadata key `engine` spells it
  absl::string_view title;       // "vLLM"
  absl::string_view image_part;  // part of the names of its container images
  absl::string_view profile;
  absl::string_view effect;  // "reads their requests and KV cache"
};

// Returns nullptr for an engine that no profile suits.
const RecommendedProfile* ProfileForEngine(absl::string_view engine);
// Returns nullptr for an image of no known engine.
const RecommendedProfile* ProfileForImage(absl::string_view image);

// Returns "profile vllm-inference reads their requests and KV cache".
std::string AdviceText(const RecommendedProfile& recommended);

// Returns true if the trigger has no profile and scales on the utilization of its workload's GPUs.
bool LacksProfile(const Trigger& trigger);

}  // namespace gpuscaler
