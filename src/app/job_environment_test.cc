#include "app/job_environment.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DetectEnvironment, ReturnsTheInnermost) {
  struct Case {
    Environment environment;
    EnvironmentKind want;
  };
  const std::vector<Case> cases = {
      {{}, EnvironmentKind::kStandalone},
      {{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}, EnvironmentKind::kKubernetes},
      {{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"SLURM_JOB_ID", "4"}}, EnvironmentKind::kSlurm},
      {{{"SLURM_JOB_ID", "4"}, {"FLUX_JOB_ID", "f1"}}, EnvironmentKind::kFlux},
  };
  for (const Case& test : cases) EXPECT_EQ(DetectEnvironment(test.environment), test.want);
}

TEST(JobEnvironment, SlurmNamesJobPartitionRankAndNode) {
  const JobEnvironment job =
      ReadJobEnvironment(EnvironmentKind::kSlurm, {{"SLURM_JOB_ID", "4711"},
                                                   {"SLURM_JOB_NAME", "train"},
                                                   {"SLURM_JOB_PARTITION", "h200"},
                                                   {"SLURM_PROCID", "3"},
                                                   {"SLURM_LOCALID", "1"},
                                                   {"SLURMD_NODENAME", "gpu-7"}});
  EXPECT_EQ(job.job, "4711");
  EXPECT_EQ(job.job_name, "train");
  EXPECT_EQ(job.partition, "h200");
  EXPECT_EQ(job.rank, 3);
  EXPECT_EQ(job.local_rank, 1);
  EXPECT_EQ(job.node, "gpu-7");
}

TEST(JobEnvironment, EveryVariableOfTheDocsHasAnEffect) {
  const auto text = [](const JobEnvironment& job) {
    return absl::StrCat(job.job, job.job_name, job.partition, job.rank.value_or(0),
                        job.local_rank.value_or(0), job.node, job.namespace_name, job.pod,
                        job.gpus_from, Name(job.kind));
  };
  for (const JobVariable& variable : JobVariables()) {
    const Environment environment = {{std::string(variable.name), "7"}};
    const EnvironmentKind kind = variable.kind.value_or(EnvironmentKind::kStandalone);
    const bool tells = text(ReadJobEnvironment(kind, environment)) !=
                       text(ReadJobEnvironment(kind, Environment()));
    EXPECT_TRUE(tells || DetectEnvironment(environment) == kind) << variable.name;
  }
}

TEST(JobEnvironment, MissingVariablesAreUnknownAndNotZero) {
  const JobEnvironment job = ReadJobEnvironment(EnvironmentKind::kSlurm, {{"SLURM_PROCID", "x"}});
  EXPECT_EQ(job.rank, std::nullopt);
  EXPECT_EQ(job.local_rank, std::nullopt);
  EXPECT_EQ(job.gpus, std::nullopt);
}

TEST(JobEnvironment, FirstVariableWithGpusIsUsed) {
  Environment environment = {{"SLURM_STEP_GPUS", "2,3"},
                             {"SLURM_JOB_GPUS", "0-3"},
                             {"GPU_DEVICE_ORDINAL", "1"},
                             {"CUDA_VISIBLE_DEVICES", "GPU-aa"}};
  const auto gpus = [&] { return ReadJobEnvironment(EnvironmentKind::kSlurm, environment).gpus; };
  EXPECT_THAT(*gpus(), ElementsAre("2", "3"));
  environment["SLURM_STEP_GPUS"] = "";
  EXPECT_THAT(*gpus(), ElementsAre("0", "1", "2", "3"));
  environment.erase("SLURM_JOB_GPUS");
  EXPECT_THAT(*gpus(), ElementsAre("1"));
  environment.erase("GPU_DEVICE_ORDINAL");
  EXPECT_THAT(*gpus(), ElementsAre("GPU-aa"));
}

TEST(JobEnvironment, CudaListEndsAtTheFirstEntryThatIsNoDevice) {
  const auto gpus = [](const char* list) {
    return *ReadJobEnvironment(EnvironmentKind::kFlux, {{"CUDA_VISIBLE_DEVICES", list}}).gpus;
  };
  EXPECT_THAT(gpus("0, 2,-1,3"), ElementsAre("0", "2"));
  EXPECT_THAT(gpus(""), IsEmpty());
  EXPECT_THAT(gpus("NoDevFiles"), IsEmpty());
  EXPECT_THAT(gpus("MIG-GPU-aa/3/0"), ElementsAre("MIG-GPU-aa/3/0"));
}

TEST(JobEnvironment, AnOversizedRangeIsKeptAsAnEntry) {
  const auto gpus = [](const char* list) {
    return *ReadJobEnvironment(EnvironmentKind::kSlurm, {{"SLURM_JOB_GPUS", list}}).gpus;
  };
  EXPECT_THAT(gpus("2147483640-2147483647"), ElementsAre("2147483640-2147483647"));
  EXPECT_THAT(gpus("0-1024"), ElementsAre("0-1024"));
  EXPECT_THAT(gpus("1023-1023"), ElementsAre("1023"));
  EXPECT_THAT(gpus("3-1"), IsEmpty());
}

TEST(JobEnvironment, FluxNamesJobAndRank) {
  const JobEnvironment job = ReadJobEnvironment(
      EnvironmentKind::kFlux,
      {{"FLUX_JOB_ID", "f2bT"}, {"FLUX_TASK_RANK", "5"}, {"FLUX_TASK_LOCAL_ID", "1"}});
  EXPECT_EQ(job.job, "f2bT");
  EXPECT_EQ(job.rank, 5);
  EXPECT_EQ(job.local_rank, 1);
}

TEST(JobEnvironment, PodNameIsItsVariableElseTheHostName) {
  Environment environment = {{"HOSTNAME", "llm-0"}};
  EXPECT_EQ(ReadJobEnvironment(EnvironmentKind::kKubernetes, environment).pod, "llm-0");
  EXPECT_EQ(ReadJobEnvironment(EnvironmentKind::kStandalone, environment).pod, "");
  environment["POD_NAME"] = "llm-1";
  EXPECT_EQ(ReadJobEnvironment(EnvironmentKind::kKubernetes, environment).pod, "llm-1");
}

}  // namespace
}  // namespace gpuscaler
