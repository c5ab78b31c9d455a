// Engines in real networks: the candidates that the finder returns do answer.
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "signal/server_finder.h"
#include "signal/test_pod_network.h"
#include "workload/test_proc.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kEngineExposition[] = "vllm:num_requests_waiting 3\n";
constexpr char kDashboard[] = "<html>a dashboard</html>\n";
constexpr int kFindersPid = 41;  // on the GPU

class EngineNetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterOwnNetwork(), absl::OkStatus());
    pod_ = std::make_unique<TestPodNetwork>(1);
    ASSERT_TRUE(pod_->status().ok()) << pod_->status();
    init_ = std::make_unique<TestProcess>([] {});  // in the node's network
    proc_.AddLogs("web-0", 1);
    proc_.AddRealProcess(1, 0, init_->pid());
  }

  // Adds a pod with the only GPU and a process on it.
  void AddPod(pid_t real) {
    proc_.AddRealProcess(kFindersPid, 1, real);
    snapshot_.pods = {{.namespace_name = "shop", .name = "web-0"}};
    snapshot_.gpus = {{.uuid = "GPU-a", .processes = {{{.pid = kFindersPid}}}, .holders = {{}}}};
  }

  std::unique_ptr<TestServer> ServeInside(const std::string& address, int port,
                                          const std::string& page) const {
    std::unique_ptr<TestServer> server;
    pod_->RunInside([&] { server = std::make_unique<TestServer>(address, page, port); });
    return server;
  }

  PodServers Find() {
    finder_.Refresh("shop", "web-0");
    clock_.Advance(kPodRefreshInterval);
    return finder_.Find(snapshot_).front();
  }

  // The order is that of probing, with a page for each address of a server.
  std::vector<std::string> Pages() {
    const PodServers found = Find();
    EXPECT_TRUE(found.status.ok()) << found.status;
    std::vector<std::string> pages;
    for (const EngineCandidate& candidate : found.candidates) {
      for (const std::string& address : candidate.addresses) {
        pages.push_back(GetPage(address, candidate.port));
      }
    }
    return pages;
  }

  FakeClock clock_;
  TestProc proc_;
  NodeSnapshot snapshot_{.taken_at = absl::FromUnixSeconds(1000)};
  std::unique_ptr<TestPodNetwork> pod_;
  std::unique_ptr<TestProcess> init_;
  ServerFinder finder_{clock_, {8000, 30000}, proc_.folders()};
};

TEST_F(EngineNetworkTest, FindsTheEngineBesideOtherServersOfItsPod) {
  const auto other = ServeInside("0.0.0.0", 3000, kDashboard);
  const auto engine = ServeInside("0.0.0.0", 8000, kEngineExposition);
  const auto admin = ServeInside("127.0.0.1", 15000, kDashboard);
  const auto worker = ServeInside("0.0.0.0", 0, kDashboard);
  const TestServer node_server("0.0.0.0", kDashboard, 8000);
  AddPod(pod_->pid());
  EXPECT_THAT(Pages(), ElementsAre(kEngineExposition, kDashboard));
}

TEST_F(EngineNetworkTest, FindsAnEngineByIpv6) {
  const auto engine = ServeInside(pod_->address_v6(), 8000, kEngineExposition);
  AddPod(pod_->pid());
  EXPECT_THAT(Pages(), ElementsAre(kEngineExposition));
}

TEST_F(EngineNetworkTest, ServerOfBothFamiliesAnswersUnderEither) {
  const auto engine = ServeInside("::", 8000, kEngineExposition);
  AddPod(pod_->pid());
  EXPECT_THAT(Find().candidates,
              ElementsAre(EngineCandidate{8000, {pod_->address(), pod_->address_v6()}}));
  EXPECT_THAT(Pages(), ElementsAre(kEngineExposition, kEngineExposition));
}

TEST_F(EngineNetworkTest, AServerOnLoopbackIsReportedAsUnreachable) {
  const auto engine = ServeInside("127.0.0.1", 8000, kEngineExposition);
  AddPod(pod_->pid());
  EXPECT_EQ(GetPage(pod_->address(), 8000), "");
  const PodServers found = Find();
  EXPECT_EQ(found.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(found.status.message(), HasSubstr("127.0.0.1:8000"));
}

TEST_F(EngineNetworkTest, FollowsAServerThatMoves) {
  auto engine = ServeInside("0.0.0.0", 8000, kEngineExposition);
  AddPod(pod_->pid());
  EXPECT_THAT(Pages(), ElementsAre(kEngineExposition));
  engine.reset();
  EXPECT_EQ(Find().status, absl::UnavailableError("nothing listens in its network yet"));
  engine = ServeInside("0.0.0.0", 9000, kEngineExposition);
  EXPECT_THAT(Pages(), ElementsAre(kEngineExposition));
  EXPECT_EQ(Find().candidates[0].port, 9000);
}

TEST_F(EngineNetworkTest, ServersOfAnEndedProcessDisappear) {
  const auto engine = ServeInside("0.0.0.0", 8000, kEngineExposition);
  AddPod(pod_->pid());
  EXPECT_TRUE(Find().status.ok());
  proc_.End(kFindersPid);
  snapshot_.gpus[0].processes->clear();
  EXPECT_EQ(Find().status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(EngineNetworkTest, InTheNodesNetworkAPodHasOnlyItsOwnPorts) {
  std::unique_ptr<TestServer> engine;
  const TestProcess process(
      [&] { engine = std::make_unique<TestServer>("0.0.0.0", kEngineExposition, 8000); });
  const TestServer node_server("0.0.0.0", kDashboard, 30000);
  AddPod(process.pid());
  snapshot_.pods[0].address = "10.78.1.1";  // the test's end of the veth pair
  snapshot_.pods[0].is_in_node_network = true;
  EXPECT_THAT(Find().candidates, ElementsAre(EngineCandidate{8000, {"10.78.1.1"}}));
}

// The API server is on no GPU.
TEST_F(EngineNetworkTest, InTheNodesNetworkAllProcessesOfThePodCount) {
  std::unique_ptr<TestServer> engine;
  const TestProcess worker([] {});
  const TestProcess api_server(
      [&] { engine = std::make_unique<TestServer>("0.0.0.0", kEngineExposition, 8000); });
  AddPod(worker.pid());
  proc_.AddRealProcess(40, 1, api_server.pid());
  const PodServers found = Find();
  ASSERT_TRUE(found.status.ok()) << found.status;
  EXPECT_EQ(found.candidates[0].port, 8000);
}

TEST_F(EngineNetworkTest, WithoutTheRightToTraceNodeNetworkPortsAreUnknown) {
  const TestServer engine("0.0.0.0", kEngineExposition, 8000);
  AddPod(init_->pid());
  std::thread([&] {
    __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct none[2] = {};
    ASSERT_EQ(syscall(SYS_capset, &header, none), 0);
    const PodServers found = Find();
    EXPECT_EQ(found.status.code(), absl::StatusCode::kPermissionDenied) << found.status;
    EXPECT_THAT(found.status.message(), HasSubstr("SYS_PTRACE"));
    EXPECT_THAT(found.candidates, testing::IsEmpty());
  }).join();
}

}  // namespace
}  // namespace gpuscaler
