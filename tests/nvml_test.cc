// The program with a faulty driver (fake_nvml).
#include <csignal>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "process.h"
#include "serve/test_http_client.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Gpu(const std::string& uuid) {
  return absl::StrCat(R"({"uuid": ")", uuid, R"(", "name": "Fake", "utilization": [90, 30],
    "memory": [80000000000, 0, 40000000000], "temperature": 61, "power": 300000,
    "power_limit": 700000, "processes": [[4711, 1000000]]})");
}

std::string Driver(const std::string& gpus, const std::string& more = "") {
  return absl::StrCat(R"({"driver_version": "550.54", "generation": 1, )", more, R"("gpus": [)",
                      gpus, "]}");
}

class NvmlTest : public testing::Test {
 protected:
  Variables Environment() const {
    return {{"LD_LIBRARY_PATH", FAKE_NVML_DIR "/new"}, {"FAKE_NVML_STATE", state_}};
  }
  std::string Metrics(const Server& server) const {
    const auto reply = Request(server.Port("metrics"), "GET", "/metrics");
    return reply.ok() ? reply->body : "";
  }
  bool Shows(const Server& server, const std::string& text) const {
    return Metrics(server).find(text) != std::string::npos;
  }

  const std::string state_ =
      WriteTestFile("nvml.json", Driver(absl::StrCat(Gpu("GPU-a"), ",", Gpu("GPU-b"))));
  const std::vector<std::string> args_ = {"--gpu-source=nvml", "--poll-interval=50ms",
                                          "--stale-after=1s"};
};

TEST_F(NvmlTest, ARemovedGpuIsGoneAndAReinsertedOneIsBack) {
  Server server(args_, Environment());
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const std::string series = "keda_gpu_scaler_gpu_utilization_percent{gpu_index=\"1\"";
  ASSERT_TRUE(Eventually([&] { return Shows(server, "gpu_uuid=\"GPU-b\""); }))
      << Metrics(server) << server.process().Err();
  ReplaceFile(state_, Driver(Gpu("GPU-a")));
  EXPECT_TRUE(Eventually([&] { return !Shows(server, "gpu_uuid=\"GPU-b\""); }));
  EXPECT_TRUE(server.process().WaitForErr("event=gpu_gone uuid=GPU-b"));
  EXPECT_EQ(Request(server.Port("probe"), "GET", "/healthz")->status, 200);
  ReplaceFile(state_, Driver(absl::StrCat(Gpu("GPU-a"), ",", Gpu("GPU-b"))));
  EXPECT_TRUE(Eventually([&] { return Shows(server, "gpu_uuid=\"GPU-b\""); }));
}

TEST_F(NvmlTest, AFailingGpuIsLoggedAndSoIsItsReturn) {
  Server server(args_, Environment());
  ASSERT_TRUE(server.process().WaitForErr("event=gpu_appeared uuid=GPU-b"));
  std::string lost = Gpu("GPU-b");
  lost.insert(1, R"("error": 15, )");
  ReplaceFile(state_, Driver(absl::StrCat(Gpu("GPU-a"), ",", lost)));
  EXPECT_TRUE(server.process().WaitForErr(
      "level=warn event=gpu_unreadable uuid=GPU-b index=1 why=\"NVML error 15 (GPU_IS_LOST)\""))
      << server.process().Err();
  ReplaceFile(state_, Driver(absl::StrCat(Gpu("GPU-a"), ",", Gpu("GPU-b"))));
  EXPECT_TRUE(server.process().WaitForErr("level=info event=gpu_readable uuid=GPU-b index=1"))
      << server.process().Err();
  EXPECT_THAT(server.process().Err(), Not(HasSubstr("event=gpu_unreadable uuid=GPU-a")));
}

TEST_F(NvmlTest, HangingDriverFailsLivenessAndSigtermStillEndsIt) {
  std::vector<std::string> args = args_;
  args.emplace_back("--hang-after=1s");
  Server server(args, Environment());
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  ASSERT_TRUE(Eventually([&] { return Shows(server, "gpu_uuid=\"GPU-a\""); }));
  ReplaceFile(state_, Driver(Gpu("GPU-a"), R"("hang": "nvmlDeviceGetMemoryInfo_v2", )"));
  EXPECT_TRUE(
      Eventually([&] { return Request(server.Port("probe"), "GET", "/healthz")->status == 503; }));
  EXPECT_EQ(Request(server.Port("probe"), "GET", "/readyz")->status, 200);
  const Finished query = RunProgram({"query", server.Address()});
  EXPECT_EQ(query.code, 1);
  EXPECT_THAT(query.out, HasSubstr("UNAVAILABLE"));
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(), 0) << server.process().Err();
  EXPECT_THAT(server.process().Err(), HasSubstr("event=shutdown_timed_out thread=sampler "));
}

TEST_F(NvmlTest, GpusShowsTheDriversValues) {
  const Finished gpus = RunProgram({"gpus", "--gpu-source=nvml"}, Environment());
  EXPECT_EQ(gpus.code, 0) << gpus.err;
  EXPECT_THAT(gpus.out, HasSubstr("GPU-b"));
  EXPECT_THAT(gpus.out, HasSubstr("550.54"));
}

// A rate takes two readings of its counter: 0 KiB more in 200 ms is a rate, one reading is none.
TEST_F(NvmlTest, GpusReadsTwiceForRates) {
  std::string gpu = Gpu("GPU-a");
  gpu.insert(1, R"("fields": {"138": 1024, "139": 2048}, )");
  ReplaceFile(state_, Driver(gpu));
  const Finished gpus = RunProgram({"gpus", "--gpu-source=nvml", "--format=json"}, Environment());
  ASSERT_EQ(gpus.code, 0) << gpus.err;
  const auto shown = nlohmann::json::parse(gpus.out)["gpus"][0];
  EXPECT_EQ(shown["nvlink_tx_mbps"], 0) << gpus.out;
  EXPECT_EQ(shown["nvlink_rx_mbps"], 0);
  EXPECT_FALSE(shown["unreadable"].contains("nvlink"));
}

TEST_F(NvmlTest, GpusWithoutADriverExits4AndNamesTheMissingLibrary) {
  const Finished gpus = RunProgram({"gpus", "--gpu-source=nvml"});
  EXPECT_EQ(gpus.code, 4) << gpus.out;
  EXPECT_THAT(gpus.err, HasSubstr("libnvidia-ml.so.1"));
  EXPECT_THAT(gpus.out, Not(HasSubstr("0")));
}

}  // namespace
}  // namespace gpuscaler
