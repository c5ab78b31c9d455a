#include "trigger/suited_profile.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kReadsRequestsAndCache = "reads their requests and KV cache";

// Images are compared in this order: one of Triton with vLLM inside is Triton's.
constexpr std::array<SuitedProfile, 9> kSuitedProfiles = {{
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

const SuitedProfile* ProfileForEngine(absl::string_view engine) {
  const auto row = std::ranges::find(kSuitedProfiles, engine, &SuitedProfile::engine);
  return row == kSuitedProfiles.end() ? nullptr : &*row;
}

const SuitedProfile* ProfileForImage(absl::string_view image) {
  const auto row = std::ranges::find_if(kSuitedProfiles, [image](const SuitedProfile& suited) {
    return absl::StrContains(image, suited.image_part);
  });
  return row == kSuitedProfiles.end() ? nullptr : &*row;
}

std::string AdviceText(const SuitedProfile& suited) {
  return absl::StrCat("profile ", suited.profile, " ", suited.effect);
}

bool LacksProfile(const Trigger& trigger) {
  return trigger.profile.empty() && trigger.metric == MetricType::kGpuUtilization &&
         trigger.scope == Scope::kWorkload;
}

}  // namespace gpuscaler
