// `gpus` as a process: formats, jobs, repetition.
#include <algorithm>
#include <csignal>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "process.h"

namespace gpuscaler {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Four GPUs; the last has only a name.
const std::string& Source() {
  static const auto* const source =
      new std::string(absl::StrCat("file:", WriteTestFile("gpus.json", R"({"gpus": [
  {"uuid": "GPU-a", "name": "Sim", "utilization_percent": 0, "memory_used_bytes": 1048576,
   "memory_total_bytes": 4194304, "processes": []},
  {"uuid": "GPU-b", "name": "Sim", "utilization_percent": 50},
  {"uuid": "GPU-c", "name": "Sim", "utilization_percent": 75},
  {"uuid": "GPU-d", "name": "Sim"}]})")));
  return *source;
}

Finished Gpus(std::vector<std::string> args, const Variables& variables = {}) {
  args.insert(args.begin(), {"gpus", "--gpu-source", Source()});
  return RunProgram(args, variables);
}

std::string Uuids(const json& page) {
  std::string uuids;
  for (const auto& gpu : page["gpus"]) uuids += gpu["uuid"].get<std::string>() + " ";
  return uuids;
}

TEST(Gpus, JsonDistinguishesUnknownFromZero) {
  const Finished gpus = Gpus({"--format=json", "--node-name=gpu-7"});
  ASSERT_EQ(gpus.code, 0) << gpus.err;
  const json page = json::parse(gpus.out);
  EXPECT_EQ(page["node"], "gpu-7");
  EXPECT_TRUE(page["job"].is_null());
  EXPECT_EQ(page["gpus"].size(), 4u);
  EXPECT_EQ(page["gpus"][0]["utilization_percent"], 0);
  EXPECT_TRUE(page["gpus"][3]["utilization_percent"].is_null());
  EXPECT_TRUE(page["gpus"][3]["in_use"].is_null());
}

TEST(Gpus, CsvHasARowAGpuUnderOneHeader) {
  const Finished gpus = Gpus({"--format=csv"});
  ASSERT_EQ(gpus.code, 0) << gpus.err;
  EXPECT_EQ(std::count(gpus.out.begin(), gpus.out.end(), '\n'), 5);
  EXPECT_EQ(gpus.out.rfind("time,environment,job,", 0), 0u) << gpus.out;
}

TEST(Gpus, TableIsTheDefault) {
  const Finished gpus = Gpus({});
  ASSERT_EQ(gpus.code, 0) << gpus.err;
  EXPECT_THAT(gpus.out, HasSubstr("UTIL %"));
  EXPECT_THAT(gpus.out, HasSubstr("1/4"));
}

TEST(Gpus, DeviceShowsOneOnly) {
  EXPECT_EQ(Uuids(json::parse(Gpus({"--device=2", "--format=json"}).out)), "GPU-c ");
}

TEST(Gpus, UnknownDeviceExits4AndListsTheDevices) {
  for (const char* interval : {"--interval=0", "--interval=20ms"}) {
    const Finished gpus = Gpus({"--device=7", "--format=json", interval});
    EXPECT_EQ(gpus.code, 4) << interval;
    EXPECT_THAT(gpus.err, HasSubstr("flag --device=7: no such GPU; there are 0, 1, 2, 3"));
    EXPECT_EQ(gpus.out, "") << interval;
  }
}

TEST(Gpus, FlagsOfOneNodeAndOfAFleetDoNotMix) {
  const Finished fleet = Gpus({"--fleet=localhost:1", "--device=2"});
  EXPECT_EQ(fleet.code, 2) << fleet.out;
  EXPECT_THAT(fleet.err, HasSubstr("flag --fleet=localhost:1: the scaler there reads the GPUs; "
                                   "leave out --device, --gpu-source"));
  const Finished csv = RunProgram({"gpus", "--fleet=localhost:1", "--format=csv"});
  EXPECT_EQ(csv.code, 2) << csv.out;
  EXPECT_THAT(csv.err, HasSubstr("flag --format=csv: a fleet's ages, "));
  const Finished node = Gpus({"--tls-ca=ca.crt"});
  EXPECT_EQ(node.code, 2) << node.out;
  EXPECT_THAT(node.err, HasSubstr("the --tls flags are for --fleet=ADDRESS"));
}

TEST(Gpus, DeviceOutsideTheJobExits4) {
  const Variables slurm = {{"SLURM_JOB_ID", "4711"}, {"SLURM_STEP_GPUS", "1,2"}};
  const Finished gpus = Gpus({"--device=3"}, slurm);
  EXPECT_EQ(gpus.code, 4) << gpus.out;
  EXPECT_THAT(gpus.err, HasSubstr("flag --device=3: no such GPU; there are 1, 2"));
}

TEST(Gpus, SlurmJobSeesItsOwnGpusAndIsNamedInEveryFormat) {
  const Variables slurm = {{"SLURM_JOB_ID", "4711"},   {"SLURM_JOB_PARTITION", "h200"},
                           {"SLURM_PROCID", "3"},      {"SLURMD_NODENAME", "n7"},
                           {"SLURM_STEP_GPUS", "1,2"}, {"SLURM_JOB_GPUS", "0,1,2"}};
  const json page = json::parse(Gpus({"--format=json"}, slurm).out);
  EXPECT_EQ(Uuids(page), "GPU-b GPU-c ");
  EXPECT_EQ(page["environment"], "slurm");
  EXPECT_EQ(page["job"], "4711");
  EXPECT_EQ(page["rank"], 3);
  EXPECT_EQ(page["node"], "n7");
  EXPECT_TRUE(page["pod"].is_null());
  EXPECT_THAT(Gpus({"--format=csv"}, slurm).out, HasSubstr("slurm,4711,,h200,3,,n7,,,1,GPU-b"));
  EXPECT_THAT(Gpus({}, slurm).out, HasSubstr("slurm job=4711 partition=h200 rank=3 node=n7 pod=-"));
}

TEST(Gpus, FluxJobSeesTheGpusThatCudaDoes) {
  const Variables flux = {
      {"FLUX_JOB_ID", "f2bT"}, {"FLUX_TASK_RANK", "0"}, {"CUDA_VISIBLE_DEVICES", "GPU-d"}};
  const json page = json::parse(Gpus({"--format=json"}, flux).out);
  EXPECT_EQ(Uuids(page), "GPU-d ");
  EXPECT_EQ(page["job"], "f2bT");
  EXPECT_EQ(page["rank"], 0);
}

TEST(Gpus, EnvironmentCanBeNamed) {
  const Variables slurm = {{"SLURM_JOB_ID", "4711"}, {"SLURM_STEP_GPUS", "1"}};
  const json page = json::parse(Gpus({"--format=json", "--env=standalone"}, slurm).out);
  EXPECT_EQ(page["gpus"].size(), 4u);
  EXPECT_TRUE(page["job"].is_null());
}

TEST(Gpus, PodIsNamed) {
  const Variables pod = {
      {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"POD_NAME", "llm-0"}, {"POD_NAMESPACE", "prod"}};
  const json page = json::parse(Gpus({"--format=json"}, pod).out);
  EXPECT_EQ(page["pod"], "llm-0");
  EXPECT_EQ(page["namespace"], "prod");
  EXPECT_TRUE(page["node"].is_null()) << "a pod's host name is not its node's";
}

TEST(Gpus, DryRunShowsWhereEachSettingComesFromAndReadsNothing) {
  const Finished gpus = RunProgram({"gpus", "--gpu-source=file:/no/such.json", "--dry-run"},
                                   {{"KEDA_GPU_SCALER_NODE_NAME", "n7"}});
  EXPECT_EQ(gpus.code, 0) << gpus.err;
  EXPECT_THAT(gpus.out, HasSubstr("gpu-source=file:/no/such.json (flag --gpu-source)\n"));
  EXPECT_THAT(gpus.out, HasSubstr("node-name=n7 (environment KEDA_GPU_SCALER_NODE_NAME)\n"));
  EXPECT_THAT(gpus.out, HasSubstr("log-level=info (default)\n"));
}

TEST(Gpus, UnreadableSourceExits4) {
  const Finished gpus = RunProgram({"gpus", "--gpu-source=file:/no/such.json"});
  EXPECT_EQ(gpus.code, 4);
  EXPECT_THAT(gpus.err, HasSubstr("/no/such.json"));
}

TEST(Gpus, IntervalPrintsALineAReadingUntilSigterm) {
  Process gpus({"gpus", "--gpu-source", Source(), "--format=json", "--interval=20ms"});
  const auto lines = [&] {
    const std::string out = gpus.Out();
    return std::count(out.begin(), out.end(), '\n');
  };
  ASSERT_TRUE(Eventually([&] { return lines() >= 3; })) << gpus.Err();
  gpus.Signal(SIGTERM);
  EXPECT_EQ(gpus.Wait(), 0);
  std::istringstream out(gpus.Out());
  for (std::string line; std::getline(out, line);) EXPECT_TRUE(json::accept(line)) << line;
}

TEST(Gpus, QuietLogsNothingButErrors) { EXPECT_EQ(Gpus({"--quiet"}).err, ""); }

TEST(Gpus, BadFlagExits2) {
  EXPECT_EQ(Gpus({"--format=xml"}).code, 2);
  EXPECT_EQ(Gpus({"--interval=5"}).code, 2);
  EXPECT_EQ(Gpus({"--env=pbs"}).code, 2);
  const Finished no_unit = Gpus({"--interval", "0.5"});
  EXPECT_EQ(no_unit.code, 2);
  EXPECT_THAT(no_unit.err, HasSubstr("flag --interval=0.5: use a duration"));
  const Finished never = Gpus({"--interval=1000000h"});
  EXPECT_EQ(never.code, 2);
  EXPECT_THAT(never.err, HasSubstr("flag --interval=1000000h: use a duration"));
}

}  // namespace
}  // namespace gpuscaler
