// Engines found as with hostPID: from the driver's GPU processes to their network and its ports.
// The kubelet reports no pod address. Tests the whole program on both ends.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/test_folder.h"
#include "engine_pods.h"
#include "gmock/gmock.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

// A container's view of its node with hostPID: each process's pod, the pods' names, and the node's
// init in the node's network. The mounts are visible only to the program.
class NodeView {
 public:
  explicit NodeView(pid_t in_node_network) {
    Bind(absl::StrCat("/proc/", in_node_network), "/proc/1");
    Bind(folder_.AddFolder("log"), "/var/log");
  }

  void AddPod(const std::string& name, const std::string& uid, pid_t process) {
    folder_.AddFolder(absl::StrCat("log/pods/shop_", name, "_", uid));
    const std::string cgroup =
        absl::StrCat("0::/kubepods.slice/kubepods-pod", absl::StrReplaceAll(uid, {{"-", "_"}}),
                     ".slice/cri-containerd-", std::string(64, 'a'), ".scope\n");
    Bind(folder_.Write(name + "/cgroup", cgroup), absl::StrCat("/proc/", process, "/cgroup"));
  }

  // Pass it as Process's `in_child`.
  void Mount() const {
    if (unshare(CLONE_NEWNS) != 0) _exit(126);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(126);
    for (const auto& [what, where] : binds_) {
      if (mount(what.c_str(), where.c_str(), nullptr, MS_BIND, nullptr) != 0) _exit(126);
    }
  }

 private:
  void Bind(std::string what, std::string where) {
    binds_.emplace_back(std::move(what), std::move(where));
  }

  const TestFolder folder_;
  std::vector<std::pair<std::string, std::string>> binds_;
};

class HostPidDiscoveryTest : public EnginePodsTest {
 protected:
  void SetUp() override {
    EnginePodsTest::SetUp();
    kubelet_.ServePodsApi(false);
    view_ = std::make_unique<NodeView>(getpid());
  }

  // Adds a pod of Deployment/llm with an engine at a port that is no engine's default.
  std::unique_ptr<Process> AddEngine(const std::string& name, int port) {
    AddPod(name);
    const int pod = static_cast<int>(networks_.size()) - 1;
    auto engine = StartEngine(pod, port);
    view_->AddPod(name, absl::StrFormat("0f3c1d2e-5a6b-4c7d-8e9f-%012d", pod + 1), engine->pid());
    AddGpu(pod, engine->pid());
    return engine;
  }
  void AddGpu(int pod, int64_t process) {
    driver_gpus_.push_back(
        absl::StrFormat(R"({"uuid": "GPU-%d", "name": "Fake", "utilization": [100, 30], )"
                        R"("memory": [80000000000, 0, 72000000000], "processes": [[%d, 1000000]]})",
                        pod + 1, process));
    ReplaceFile(driver_, absl::StrCat(R"({"driver_version": "550.54", "generation": 1, "gpus": [)",
                                      absl::StrJoin(driver_gpus_, ", "), "]}"));
  }

  void StartNodeAndAggregator() {
    std::vector<std::string> args = NodeFlags();
    args.front() = "--gpu-source=nvml";
    args.insert(args.end(), {"--role=agent", "--node-name=gpu-1", "--discover-engines"});
    agent_ = std::make_unique<Server>(
        args, Variables{{"LD_LIBRARY_PATH", FAKE_NVML_DIR "/new"}, {"FAKE_NVML_STATE", driver_}},
        [view = view_.get()] { view->Mount(); });
    ASSERT_TRUE(agent_->Ready()) << agent_->process().Diagnostics();
    server_ = std::make_unique<Server>(std::vector<std::string>{
        "--role=aggregator", absl::StrCat("--agents=static:", agent_->Address()), "--grace=6s",
        "--poll-interval=100ms", "--engine-interval=200ms", "--stale-after=5s"});
    ASSERT_TRUE(server_->Ready()) << server_->process().Diagnostics();
  }

  const std::vector<std::string> running_ = {"metricType=requests_running", "targetValue=10",
                                             "window=0s"};
  const std::string driver_ = WriteTestFile("nvml.json", "{}");
  std::vector<std::string> driver_gpus_;
  std::unique_ptr<NodeView> view_;
  std::unique_ptr<Server> agent_;
};

TEST_F(HostPidDiscoveryTest, AnAggregatorCountsTheEnginesOfTheProcessesOnANodesGpus) {
  const auto busy = AddEngine("llm-6d4cf56db6-x7k2p", 9123);
  const auto idle = AddEngine("llm-6d4cf56db6-q2w4r", 9124);
  const TestServer other("0.0.0.0", "vllm:num_requests_running 1000\n", 9123);
  const auto load = StartLoad(0, 9123);
  StartNodeAndAggregator();
  EXPECT_THAT(
      QueryUntil("value   5\n", running_),
      AllOf(HasSubstr("value   5\n"), ContainsRegex("replicas: 2 .pods of llm, by their engines")))
      << agent_->process().Err();
  EXPECT_THAT(agent_->process().Err(), AllOf(ContainsRegex("event=engine_found .*port=9123"),
                                             ContainsRegex("event=engine_found .*port=9124")));
  const Finished fleet = RunProgram({"gpus", "--fleet", server_->Address()});
  EXPECT_EQ(fleet.code, 0) << fleet.err;
  EXPECT_THAT(fleet.out, ContainsRegex("gpu-1 .*shop/llm-6d4cf56db6-x7k2p/main"));
}

TEST_F(HostPidDiscoveryTest, ProcessesInvisibleToTheAgentAreTheReason) {
  AddPod("llm-6d4cf56db6-x7k2p");
  constexpr int64_t kUnusedPid = int64_t{1} << 30;  // above any pid_max
  AddGpu(0, kUnusedPid);
  StartNodeAndAggregator();
  EXPECT_THAT(QueryUntil("agents need hostPID", running_),
              HasSubstr("its processes are not seen: agents need hostPID"))
      << agent_->process().Err();
}

}  // namespace
}  // namespace gpuscaler
