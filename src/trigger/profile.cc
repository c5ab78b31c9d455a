#include "trigger/profile.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "trigger/metadata_parser.h"

namespace gpuscaler {
namespace {

// Returns a profile for an engine that allocates its VRAM at its start: loading and graph capture
// take minutes.
Profile EngineProfile(const char* name, const char* help, double target) {
  return {.help = help,
          .trigger = {.profile = name,
                      .metric = MetricType::kMemoryUsedPercent,
                      .target = target,
                      .activation_threshold = 5,
                      .activation_window = absl::Seconds(120),
                      .warmup = absl::Seconds(300),
                      .preallocated_memory = PreallocatedMemory::kPressure}};
}

// Returns a profile for work in bursts, with VRAM that stays allocated between them.
Profile BurstProfile(const char* name, const char* help, double activation_threshold) {
  return {.help = help,
          .trigger = {.profile = name,
                      .metric = MetricType::kMemoryUsedPercent,
                      .target = 70,
                      .activation_threshold = activation_threshold,
                      .window = absl::Seconds(60),
                      .activation_window = absl::Seconds(300),
                      .preallocated_memory = PreallocatedMemory::kActivity}};
}

// Returns a profile on an engine's requests, with the windows of such metrics.
Profile RequestProfile(const char* name, const char* help, MetricType metric, double target,
                       double activation_threshold) {
  return {.help = help,
          .trigger =
              TriggerOf({.trigger = {.profile = name, .activation_threshold = activation_threshold},
                         .metric = metric,
                         .target = target})};
}

Profiles MakeBuiltInProfiles() {
  Profiles profiles;
  for (const Profile& profile : {
           EngineProfile("vllm-inference",
                         "vLLM, SGLang: by demand; until it is known by the engines' pressure, "
                         "without engines by utilization",
                         80),
           EngineProfile("tgi-inference",
                         "Text Generation Inference: by demand; until it is known by the engines' "
                         "pressure, without engines by utilization",
                         75),
           BurstProfile("batch", "Batch inference, to zero between batches", 1),
           BurstProfile("ollama", "Ollama, which keeps a model in VRAM between requests", 3),
           RequestProfile("vllm-queue-depth", "vLLM, by the requests that wait",
                          MetricType::kVllmQueueDepth, 5, 1),
           // Chosen by `tools/bench loop`; docs/demand.md has the figures.
           RequestProfile("vllm-requests", "vLLM and other engines, by requests in flight",
                          MetricType::kRequestsInFlight, 48, 0),
           RequestProfile("triton-queue-wait", "Triton, by how long requests wait",
                          MetricType::kTritonQueueWaitMs, 50, 5),
           RequestProfile("triton-request-rate", "Triton, by requests a second",
                          MetricType::kTritonRequestRate, 50, 1),
           Profile{.help = "Triton Inference Server, by utilization",
           .trigger = {.profile = "triton-inference",
                      .metric = MetricType::kGpuUtilization,
                      .target = 75,
                      .activation_threshold = 10}},
           Profile{.help = "Training: a busy job is never shrunk, and never goes to zero",
           .trigger = {.profile = "training",
                      .metric = MetricType::kGpuUtilization,
                      .target = 90,
                      .window = absl::Seconds(60),
                      .activation_window = absl::Seconds(600),
                      .scale_in = ScaleIn::kHold}},
           Profile{
               .help = "Data-parallel training on NVLink, by what a replica's GPUs send together",
       .trigger = {.profile = "distributed-training",
                  .metric = MetricType::kNvlinkTx,
                  .target = 50000,
                  .activation_threshold = 5000}},
       }) {
    profiles.emplace(profile.trigger.profile, profile);
  }
  return profiles;
}

}  // namespace

const Profiles& BuiltInProfiles() {
  static const auto& profiles = *new Profiles(MakeBuiltInProfiles());
  return profiles;
}

std::string MetricNameOf(absl::string_view profile) {
  return absl::StrCat("keda_gpu_", absl::StrReplaceAll(profile, {{"-", "_"}}));
}

}  // namespace gpuscaler
