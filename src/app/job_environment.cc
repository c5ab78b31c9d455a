#include "app/job_environment.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gpuscaler {
namespace {

constexpr int kMaxGpus = 1024;  // upper limit for one node

// Expands SLURM's "0-3" into indices; other entries are kept.
void AppendEntry(absl::string_view entry, std::vector<std::string>& entries) {
  const std::vector<absl::string_view> ends = absl::StrSplit(entry, absl::MaxSplits('-', 1));
  int first = 0;
  int last = 0;
  if (ends.size() == 2 && absl::SimpleAtoi(ends[0], &first) && absl::SimpleAtoi(ends[1], &last) &&
      first >= 0 && last < kMaxGpus) {
    for (int index = first; index <= last; ++index) entries.push_back(absl::StrCat(index));
    return;
  }
  entries.emplace_back(entry);
}

// The list ends at the first entry that is no device (-1, SLURM's NoDevFiles), as in CUDA.
std::vector<std::string> Entries(absl::string_view list) {
  std::vector<std::string> entries;
  for (absl::string_view entry : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    entry = absl::StripAsciiWhitespace(entry);
    if (entry == "-1" || entry == "NoDevFiles" || entry == "none" || entry == "void") break;
    AppendEntry(entry, entries);
  }
  return entries;
}

constexpr auto kAny = std::nullopt;
constexpr auto kSlurm = EnvironmentKind::kSlurm;
constexpr auto kFlux = EnvironmentKind::kFlux;
constexpr auto kKubernetes = EnvironmentKind::kKubernetes;
constexpr absl::string_view kCudaDevices = "CUDA_VISIBLE_DEVICES";

// Sources of the variables:
// https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES
// https://flux-framework.readthedocs.io: flux-environment(7); GPUs are set by the shell's
// gpu-affinity
constexpr JobVariable kVariables[] = {
    {"KUBERNETES_SERVICE_HOST", kKubernetes, "Where it is set this is a pod"},
    {"POD_NAME", kAny, "Name of the pod", &JobEnvironment::pod},
    // Wrong if the pod uses the node's host name.
    {"HOSTNAME", kKubernetes, "Name of the pod, without POD_NAME", &JobEnvironment::pod},
    {"POD_NAMESPACE", kAny, "Namespace of the pod", &JobEnvironment::namespace_name},
    {"SLURM_JOB_ID", kSlurm, "The job; where it is set this is a SLURM job", &JobEnvironment::job},
    {"SLURM_JOB_NAME", kSlurm, "Name of the job", &JobEnvironment::job_name},
    {"SLURM_JOB_PARTITION", kSlurm, "Partition that the job runs in", &JobEnvironment::partition},
    {"SLURM_PROCID", kSlurm, "Rank within the job", &JobEnvironment::rank},
    {"SLURM_LOCALID", kSlurm, "Rank within the node", &JobEnvironment::local_rank},
    {"SLURMD_NODENAME", kSlurm, "Name of the node", &JobEnvironment::node},
    {"SLURM_STEP_GPUS", kSlurm, "GPUs of the job step", &JobEnvironment::gpus},
    {"SLURM_JOB_GPUS", kSlurm, "GPUs of the job, where the step names none", &JobEnvironment::gpus},
    {"GPU_DEVICE_ORDINAL", kSlurm, "GPUs, without the two above", &JobEnvironment::gpus},
    {kCudaDevices, kSlurm, "GPUs, without the three above; empty is none", &JobEnvironment::gpus},
    {"FLUX_JOB_ID", kFlux, "The job; where it is set this is a Flux job", &JobEnvironment::job},
    {"FLUX_JOB_NAME", kFlux, "Name of the job", &JobEnvironment::job_name},
    {"FLUX_TASK_RANK", kFlux, "Rank within the job", &JobEnvironment::rank},
    {"FLUX_TASK_LOCAL_ID", kFlux, "Rank within the node", &JobEnvironment::local_rank},
    {kCudaDevices, kFlux, "GPUs of the job; empty is none", &JobEnvironment::gpus},
    {"NODE_NAME", kAny, "Name of the node, without --node-name", &JobEnvironment::node},
};

// SetField() for each type of JobVariable::field.
void SetField(const JobVariable&, std::monostate, const std::string&, JobEnvironment&) {}

void SetField(const JobVariable&, std::string JobEnvironment::*field, const std::string& value,
              JobEnvironment& job) {
  if ((job.*field).empty()) job.*field = value;
}

void SetField(const JobVariable&, std::optional<int> JobEnvironment::*field,
              const std::string& value, JobEnvironment& job) {
  int number = 0;
  if (absl::SimpleAtoi(value, &number)) job.*field = number;
}

// Uses the first variable with a value. An empty CUDA_VISIBLE_DEVICES means no GPU; SLURM's own
// variables are never empty.
void SetField(const JobVariable& variable,
              std::optional<std::vector<std::string>> JobEnvironment::*field,
              const std::string& value, JobEnvironment& job) {
  if (job.*field || (value.empty() && variable.name != kCudaDevices)) return;
  job.*field = Entries(value);
  job.gpus_from = std::string(variable.name);
}

}  // namespace

absl::string_view Name(EnvironmentKind kind) {
  switch (kind) {
    case EnvironmentKind::kStandalone:
      return "standalone";
    case EnvironmentKind::kKubernetes:
      return "k8s";
    case EnvironmentKind::kSlurm:
      return "slurm";
    case EnvironmentKind::kFlux:
      break;
  }
  return "flux";
}

EnvironmentKind DetectEnvironment(const Environment& environment) {
  if (environment.contains("FLUX_JOB_ID")) return EnvironmentKind::kFlux;
  if (environment.contains("SLURM_JOB_ID")) return EnvironmentKind::kSlurm;
  if (environment.contains("KUBERNETES_SERVICE_HOST")) return EnvironmentKind::kKubernetes;
  return EnvironmentKind::kStandalone;
}

JobEnvironment ReadJobEnvironment(EnvironmentKind kind, const Environment& environment) {
  JobEnvironment job;
  job.kind = kind;
  for (const JobVariable& variable : kVariables) {
    if (variable.kind && *variable.kind != kind) continue;
    const auto found = environment.find(variable.name);
    if (found == environment.end()) continue;
    std::visit([&](auto field) { SetField(variable, field, found->second, job); }, variable.field);
  }
  return job;
}

std::span<const JobVariable> JobVariables() { return kVariables; }

}  // namespace gpuscaler
