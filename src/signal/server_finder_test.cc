#include "signal/server_finder.h"

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_proc.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ServerFinderTest : public testing::Test {
 protected:
  ServerFinderTest() {
    proc_.AddProcess(1, 0, proc_.AddNetwork("node", 22));
    proc_.AddLogs("web-0", 1);
    proc_.AddLogs("web-1", 2);
  }

  // Adds a pod with a GPU of its own.
  Pod& AddPod(const std::string& name, const std::vector<int64_t>& pids) {
    snapshot_.taken_at = clock_.Now();
    GpuSample gpu = {.uuid = "GPU-" + name};
    gpu.holders.push_back({.pod = static_cast<int>(snapshot_.pods.size()), .container = "engine"});
    gpu.processes.emplace();
    for (const int64_t pid : pids) gpu.processes->push_back({.pid = pid});
    snapshot_.gpus.push_back(gpu);
    snapshot_.pods.push_back({.namespace_name = "shop", .name = name});
    return snapshot_.pods.back();
  }

  const PodServers& FindOnly() {
    const auto& found = finder_.Find(snapshot_);
    EXPECT_EQ(found.size(), 1u);
    return found.front();
  }
  int OnlyPort() {
    const PodServers& found = FindOnly();
    EXPECT_TRUE(found.status.ok()) << found.status;
    return found.candidates.size() == 1 ? found.candidates[0].port : 0;
  }

  FakeClock clock_;
  TestProc proc_;
  NodeSnapshot snapshot_;
  ServerFinder finder_{clock_, {8000, 30000}, proc_.folders()};
};

TEST_F(ServerFinderTest, FindsTheServersInTheNetworkOfAGpuProcess) {
  proc_.AddProcess(41, 1, proc_.AddNetwork("net", 8000));
  AddPod("web-0", {41});
  EXPECT_EQ(FindOnly(), (PodServers{.namespace_name = "shop",
                                    .pod = "web-0",
                                    .candidates = {{.port = 8000, .addresses = {"10.1.2.3"}}}}))
      << FindOnly().status;
}

TEST_F(ServerFinderTest, TheKubeletsAddressComesFirst) {
  proc_.AddProcess(41, 1, proc_.AddNetwork("net", 8000));
  AddPod("web-0", {41}).address = "10.9.9.9";
  EXPECT_THAT(FindOnly().candidates, ElementsAre(EngineCandidate{8000, {"10.9.9.9"}}));
}

TEST_F(ServerFinderTest, WithoutHostPidTheKubeletsAddressHasTheDefaultPorts) {
  AddPod("web-0", {41}).address = "10.1.2.3";
  EXPECT_TRUE(FindOnly().status.ok()) << FindOnly().status;
  EXPECT_THAT(FindOnly().candidates, ElementsAre(EngineCandidate{8000, {"10.1.2.3"}},
                                                 EngineCandidate{30000, {"10.1.2.3"}}));
}

TEST_F(ServerFinderTest, ErrorsNameTheMissingRight) {
  AddPod("web-0", {41});
  AddPod("web-1", {});
  AddPod("web-2", {}).is_in_node_network = true;
  snapshot_.pods[2].address = "192.0.2.1";
  const auto& found = finder_.Find(snapshot_);
  EXPECT_EQ(found[0].status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(found[0].status.message(), HasSubstr("agents need hostPID"));
  EXPECT_EQ(found[1].status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(found[2].status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(found[2].status.message(), HasSubstr("node's network"));
  for (const PodServers& pod : found) EXPECT_THAT(pod.candidates, IsEmpty());
}

TEST_F(ServerFinderTest, PodsThatShareAGpuCannotBeSeparated) {
  constexpr int kNameless = 3;
  proc_.AddProcess(41, kNameless, proc_.AddNetwork("net", 8000));
  AddPod("web-0", {41});
  AddPod("web-1", {});
  snapshot_.gpus[0].holders.push_back({.pod = 1, .container = "engine"});
  for (const PodServers& pod : finder_.Find(snapshot_)) {
    EXPECT_EQ(pod.status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(pod.status.message(), HasSubstr("/var/log/pods"));
  }
}

// Ollama unloads its model; vLLM's API server is on no GPU.
TEST_F(ServerFinderTest, APodWithoutGpuProcessesStaysFound) {
  const std::string net = proc_.AddNetwork("net", 8000);
  proc_.AddProcess(40, 1, net);
  proc_.AddProcess(41, 1, net);
  AddPod("web-0", {41});
  EXPECT_EQ(OnlyPort(), 8000);
  proc_.End(41);
  snapshot_.gpus[0].processes->clear();
  clock_.Advance(kPodReadInterval);
  EXPECT_EQ(OnlyPort(), 8000);
}

TEST_F(ServerFinderTest, AnEndedProcessIsSkipped) {
  const std::string net = proc_.AddNetwork("net", 8000);
  proc_.AddProcess(41, 1, net);
  proc_.AddProcess(42, 1, net);
  AddPod("web-0", {41, 42});
  EXPECT_EQ(OnlyPort(), 8000);
  proc_.End(41);
  clock_.Advance(kPodReadInterval);
  EXPECT_EQ(OnlyPort(), 8000);
  proc_.End(42);
  clock_.Advance(kPodReadInterval);
  EXPECT_EQ(FindOnly().status.code(), absl::StatusCode::kFailedPrecondition) << FindOnly().status;
}

TEST_F(ServerFinderTest, EachPodHasItsOwnNetwork) {
  proc_.AddProcess(41, 1, proc_.AddNetwork("a", 8000));
  proc_.AddProcess(51, 2, proc_.AddNetwork("b", 9000));
  AddPod("web-0", {41});
  AddPod("web-1", {51});
  const auto& found = finder_.Find(snapshot_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].candidates[0].port, 8000);
  EXPECT_EQ(found[1].candidates[0].port, 9000);
}

TEST_F(ServerFinderTest, PodsAreReadAgainEveryMinute) {
  const std::string net = proc_.AddNetwork("net", 8000);
  proc_.AddProcess(41, 1, net);
  AddPod("web-0", {41});
  EXPECT_EQ(OnlyPort(), 8000);
  proc_.Listen(net, 9000);
  clock_.Advance(kPodReadInterval - absl::Milliseconds(1));
  EXPECT_EQ(OnlyPort(), 8000);
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(OnlyPort(), 9000);
}

TEST_F(ServerFinderTest, RefreshedPodsAreReadAgainAfterFiveSeconds) {
  const std::string net = proc_.AddNetwork("net", 8000);
  proc_.AddProcess(41, 1, net);
  AddPod("web-0", {41});
  EXPECT_EQ(OnlyPort(), 8000);
  proc_.Listen(net, 9000);
  finder_.Refresh("shop", "web-0");
  clock_.Advance(kPodRefreshInterval - absl::Milliseconds(1));
  EXPECT_EQ(OnlyPort(), 8000);
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(OnlyPort(), 9000);
}

TEST_F(ServerFinderTest, ChangedProcessesOrPodsAreReadAgain) {
  proc_.AddProcess(41, 1, proc_.AddNetwork("a", 8000));
  proc_.AddProcess(51, 1, proc_.AddNetwork("b", 9000));
  AddPod("web-0", {41});
  EXPECT_EQ(OnlyPort(), 8000);
  snapshot_.gpus[0].processes = {{{.pid = 51}}};
  clock_.Advance(kPodRefreshInterval);
  EXPECT_EQ(OnlyPort(), 9000);
  // A changed pod is read at once.
  snapshot_.pods[0].address = "10.9.9.9";
  EXPECT_THAT(FindOnly().candidates, ElementsAre(EngineCandidate{9000, {"10.9.9.9"}}));
  // A failed list is not a change.
  snapshot_.gpus[0].processes.reset();
  clock_.Advance(kPodRefreshInterval);
  EXPECT_EQ(OnlyPort(), 9000);
  snapshot_.pods.clear();
  snapshot_.gpus.clear();
  EXPECT_THAT(finder_.Find(snapshot_), IsEmpty());
}

TEST_F(ServerFinderTest, PodWithoutCandidatesIsReadAgainSoon) {
  const std::string net = proc_.AddNetwork("net", 45000);
  proc_.AddProcess(41, 1, net);
  AddPod("web-0", {41});
  EXPECT_FALSE(FindOnly().status.ok());
  proc_.Listen(net, 8000);
  EXPECT_FALSE(FindOnly().status.ok());
  clock_.Advance(kPodRefreshInterval);
  EXPECT_EQ(OnlyPort(), 8000);
}

TEST_F(ServerFinderTest, ARefreshReadsOnlyItsPod) {
  const std::string a = proc_.AddNetwork("a", 8000), b = proc_.AddNetwork("b", 8000);
  proc_.AddProcess(41, 1, a);
  proc_.AddProcess(51, 2, b);
  AddPod("web-0", {41});
  AddPod("web-1", {51});
  finder_.Find(snapshot_);
  for (const std::string& net : {a, b}) proc_.Listen(net, 9000);
  finder_.Refresh("shop", "web-1");
  finder_.Refresh("shop", "gone");
  clock_.Advance(kPodRefreshInterval);
  const auto& found = finder_.Find(snapshot_);
  EXPECT_EQ(found[0].candidates[0].port, 8000);
  EXPECT_EQ(found[1].candidates[0].port, 9000);
}

TEST_F(ServerFinderTest, AMalformedTableIsAnError) {
  const std::string net = proc_.AddNetwork("net", 8000);
  std::ofstream(net + "/tcp") << "what is this\n";
  proc_.AddProcess(41, 1, net);
  AddPod("web-0", {41});
  EXPECT_EQ(FindOnly().status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gpuscaler
