#include "trigger/recommended_profile.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kReadsRequestsAndCache = "reads their requests and KV cache";

// Images are compared in this order: one of Triton with vLLM inside is Triton's.
constexpr std::array<RecommendedProfile, 9> kRecommendedProfiles = {{
    {"triton", "Triton", "tritonserver", "triton-inference", "has a target that suits them"},
    {"nim", "NIM", "nvcr.io/nim/", "vllm-inference", kReadsRequestsAndCache},
    {"trtllm_serve", "trtllm-serve", "tensorrt-llm", "vllm-inference", kReadsRequestsAndCache},
    {"sglang", "SGLang", "sglang", "vllm-inference", kReadsRequestsAndCache},
    {"lmdeploy", "LMDeploy", "lmdeploy", "vllm-inference", kReadsRequestsAndCache},
    {"tgi", "TGI", "text-generation-inference", "tgi-inference", "reads their requests"},
    {"vllm", "vLLM", "vllm", "vllm-inference", kReadsRequestsAndCache},
    {"ollama", "Ollama", "ollama", "ollama", "ignores VRAM that an idle model keeps"},
    {"llama_cpp", "llama.cpp", "llama.cpp", "vllm-requests", "reads their requests"},
}};

}  // namespace

const RecommendedProfile* ProfileForEngine(absl::string_view engine) {
  const auto row = std::ranges::find(kRecommendedProfiles, engine, &RecommendedProfile::engine);
  return row == kRecommendedProfiles.end() ? nullptr : &*row;
}

const RecommendedProfile* ProfileForImage(absl::string_view image) {
  const auto row =
      std::ranges::find_if(kRecommendedProfiles, [image](const RecommendedProfile& recommended) {
        return absl::StrContains(image, recommended.image_part);
      });
  return row == kRecommendedProfiles.end() ? nullptr : &*row;
}

std::string AdviceText(const RecommendedProfile& recommended) {
  return absl::StrCat("profile ", recommended.profile, " ", recommended.effect);
}

bool LacksProfile(const Trigger& trigger) {
  return trigger.profile.empty() && trigger.metric == MetricType::kGpuUtilization &&
         trigger.scope == Scope::kWorkload;
}

}  // namespace gpuscaler
