// GPU holders: the program with a fake kubelet on real sockets.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "nlohmann/json.hpp"
#include "process.h"
#include "serve/test_http_client.h"

namespace gpuscaler {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

class HoldersTest : public testing::Test {
 protected:
  HoldersTest()
      : source_(absl::StrCat("file:", WriteTestFile("held.json", R"({"gpus": [
            {"uuid": "GPU-a", "utilization_percent": 80},
            {"uuid": "GPU-b", "utilization_percent": 50}]})"))) {
    kubelet_.AddPod("shop", "web-6d4cf56db6-x7k2p",
                    {{.container = "vllm", .resource = "nvidia.com/gpu", .id = "GPU-a"}});
  }

  std::vector<std::string> Flags(const std::string& mode) const {
    return {absl::StrCat("--gpu-source=", source_), absl::StrCat("--attribution=", mode),
            absl::StrCat("--pod-resources-socket=", kubelet_.pod_resources_socket()),
            absl::StrCat("--pods-api-socket=", kubelet_.pods_api_socket())};
  }

  json Gpus(const std::string& mode) const {
    std::vector<std::string> args = Flags(mode);
    args.insert(args.begin(), {"gpus", "--format=json"});
    const Finished gpus = RunProgram(args);
    EXPECT_EQ(gpus.code, 0) << gpus.err;
    return json::parse(gpus.out);
  }

  const TestFolder folder_;
  FakeKubelet kubelet_{folder_.path()};
  const std::string source_;
};

// A process that sleeps until it is killed.
class Sleeper {
 public:
  Sleeper() : pid_(fork()) {
    while (pid_ == 0) pause();
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

// /proc as in a container with hostPID, with processes of pods. The mounts are visible only to the
// program. Needs root, or the right to create a user namespace.
class PodsProc {
 public:
  void Add(pid_t pid, const std::string& pod_uid) {
    const std::string number = absl::StrCat(pid);
    proc_.Write(number + "/stat", number + " (x) S 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 77 0\n");
    proc_.Write(
        number + "/cgroup",
        absl::StrCat("0::/kubepods.slice/kubepods-pod", absl::StrReplaceAll(pod_uid, {{"-", "_"}}),
                     ".slice/cri-containerd-", std::string(64, 'a'), ".scope\n"));
    folders_.emplace_back(proc_.PathOf(number), absl::StrCat("/proc/", pid));
  }

  // Pass it as Process's `in_child`.
  void Mount() const {
    if (unshare(CLONE_NEWNS) != 0) {
      if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(126);
      Write("/proc/self/uid_map", root_);
    }
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(126);
    for (const auto& [folder, place] : folders_) {
      if (mount(folder.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0) _exit(126);
    }
  }

 private:
  static void Write(const char* path, const std::string& text) {
    const int file = open(path, O_WRONLY);
    if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(126);
    close(file);
  }

  const TestFolder proc_;
  const std::string root_ = absl::StrCat("0 ", geteuid(), " 1");
  std::vector<std::pair<std::string, std::string>> folders_;  // source and mount point
};

std::string MetricsOf(const Server& server) {
  const auto reply = Request(server.Port("metrics"), "GET", "/metrics");
  return reply.ok() ? reply->body : reply.status().ToString();
}

constexpr char kHeld[] = R"(gpu_uuid="GPU-a",gpu_name="",gpu_parent_uuid="",namespace="shop",)"
                         R"(pod="web-6d4cf56db6-x7k2p",container="vllm"} 80)";

TEST_F(HoldersTest, MetricsBearThePodFromTheFirstSecond) {
  const Server server(Flags("kubelet"));
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(MetricsOf(server), kHeld); }))
      << MetricsOf(server);
  EXPECT_THAT(MetricsOf(server), HasSubstr("keda_gpu_scaler_attribution_known 1"));
}

TEST_F(HoldersTest, ALostKubeletIsReportedAndItsLastHoldersStay) {
  Server server(Flags("kubelet"));
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  ASSERT_TRUE(server.process().WaitForErr("event=kubelet_found"));
  kubelet_.Stop();
  ASSERT_TRUE(server.process().WaitForErr("event=kubelet_lost")) << server.process().Err();
  EXPECT_THAT(MetricsOf(server), HasSubstr(kHeld));
  kubelet_.AddPod("shop", "db-0",
                  {{.container = "db", .resource = "nvidia.com/gpu", .id = "GPU-b"}});
  kubelet_.Start();
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(MetricsOf(server), "pod=\"db-0\""); }))
      << server.process().Err();
}

TEST_F(HoldersTest, AKubeletThatNeverAnswersMakesHoldersUnknown) {
  kubelet_.Stop();
  Server server(Flags("kubelet"));
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_TRUE(server.process().WaitForErr("event=attribution_unknown")) << server.process().Err();
  EXPECT_TRUE(Eventually(
      [&] { return absl::StrContains(MetricsOf(server), "keda_gpu_scaler_attribution_known 0"); }));
}

TEST_F(HoldersTest, AutoUsesTheKubeletIfThereIsOne) {
  EXPECT_EQ(Gpus("auto")["gpus"][0]["holders"][0]["pod"], "web-6d4cf56db6-x7k2p");
  kubelet_.Stop();
  EXPECT_TRUE(Gpus("auto")["gpus"][0]["holders"].is_null());
  EXPECT_TRUE(Gpus("auto")["holders_unknown"].is_null()) << "no kubelet was queried";
}

TEST_F(HoldersTest, ServingLogsTheModeThatAutoSelected) {
  Server asking(Flags("auto"));
  ASSERT_TRUE(asking.Ready()) << asking.process().Diagnostics();
  EXPECT_THAT(asking.process().Err(), ContainsRegex("event=serving .*attribution=kubelet"));
  kubelet_.Stop();
  Server alone(Flags("auto"));
  ASSERT_TRUE(alone.Ready()) << alone.process().Diagnostics();
  EXPECT_THAT(alone.process().Err(), ContainsRegex("event=serving .*attribution=none"));
}

TEST_F(HoldersTest, GpusShowsHoldersAndOwners) {
  const json page = Gpus("kubelet");
  const json& holder = page["gpus"][0]["holders"][0];
  EXPECT_EQ(holder["namespace"], "shop");
  EXPECT_EQ(holder["owners"][0], "Deployment/web");
  EXPECT_EQ(page["gpus"][1]["holders"], json::array());
  EXPECT_TRUE(Gpus("none")["gpus"][0]["holders"].is_null());
}

// Each workload scales on its own part: three quarters and one quarter of 80 %.
TEST_F(HoldersTest, ASharedGpuIsDividedByProcessUse) {
  constexpr char kUidA[] = "0f3c1d2e-5a6b-4c7d-8e9f-a0b1c2d3e4f5";
  constexpr char kUidB[] = "1f3c1d2e-5a6b-4c7d-8e9f-a0b1c2d3e4f5";
  const Sleeper of_a, of_b;
  PodsProc proc;
  proc.Add(of_a.pid(), kUidA);
  proc.Add(of_b.pid(), kUidB);
  const auto replica = [](const std::string& pod, const std::string& id) {
    return PodDevices{"shop", pod, {{.container = "main", .resource = "nvidia.com/gpu", .id = id}}};
  };
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods(
      {{.devices = replica("a-0", "GPU-a::0"), .of_api = {.uid = kUidA, .ready = true}},
       {.devices = replica("b-0", "GPU-a::1"), .of_api = {.uid = kUidB, .ready = true}}});
  std::vector<std::string> flags = Flags("kubelet");
  flags.front() = absl::StrCat(
      "--gpu-source=file:",
      WriteTestFile("shared.json",
                    absl::StrCat(R"({"gpus": [{"uuid": "GPU-a", "utilization_percent": 80, )",
                                 R"("processes": [{"pid": )", of_a.pid(),
                                 R"(, "utilization_percent": 60}, {"pid": )", of_b.pid(),
                                 R"(, "utilization_percent": 20}]}]})")));
  const Server server(flags, {}, [&proc] { proc.Mount(); });
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const auto ask = [&server](const std::string& pod) {
    return RunProgram({"query", server.Address(), "--namespace=shop", "--explain",
                       "metricType=gpu_utilization", "window=0s", absl::StrCat("podRegex=", pod)})
        .out;
  };
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(ask("a-0"), "value   60\n"); }))
      << ask("a-0") << server.process().Diagnostics();
  EXPECT_THAT(ask("b-0"), HasSubstr("value   20\n"));
}

TEST_F(HoldersTest, AHangingKubeletDelaysNeitherReadingsNorShutdown) {
  kubelet_.Hang(true);
  Server server(Flags("kubelet"));
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(MetricsOf(server), "keda_gpu_scaler_gpu_utilization_percent");
  }));
  EXPECT_TRUE(server.process().WaitForErr("no answer within 2s")) << server.process().Err();
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(), 0) << server.process().Err();
}

// The directory exists if a pod mounts the socket instead of its folder before the kubelet has
// created it.
TEST_F(HoldersTest, ADirectoryInPlaceOfTheSocketIsReported) {
  const std::string folder = NewTestFolder();
  const std::string socket = absl::StrCat("--pod-resources-socket=", folder);
  Server guessing({absl::StrCat("--gpu-source=", source_), "--attribution=auto", socket});
  ASSERT_TRUE(guessing.Ready());
  EXPECT_THAT(guessing.process().Err(),
              HasSubstr(absl::StrCat("level=warn event=no_kubelet_socket path=", folder,
                                     " is=\"a directory\"")));
  Server sure({absl::StrCat("--gpu-source=", source_), "--attribution=kubelet", socket});
  EXPECT_TRUE(sure.process().WaitForErr(
      absl::StrCat("event=kubelet_lost why=\"the kubelet does not answer: ", folder,
                   ": is a directory, and no socket\"")))
      << sure.process().Err();
}

}  // namespace
}  // namespace gpuscaler
