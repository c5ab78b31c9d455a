#include "signal/network_namespace.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "signal/process_sockets.h"
#include "signal/test_pod_network.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;

constexpr char kProc[] = "/proc";
constexpr char kPage[] = "vllm:num_requests_waiting 3\n";

TEST(NetworkNamespace, IdIsSharedOnlyWithinANetwork) {
  ASSERT_EQ(EnterOwnNetwork(), absl::OkStatus());
  const TestPodNetwork pod(1);
  const TestPodNetwork other(2);
  ASSERT_TRUE(pod.status().ok()) << pod.status();
  std::unique_ptr<TestProcess> sidecar;
  pod.RunInside([&] { sidecar = std::make_unique<TestProcess>([] {}); });
  const TestProcess in_node([] {});
  const auto of_pod = NetworkNamespaceIdOf(kProc, pod.pid());
  const auto of_other = NetworkNamespaceIdOf(kProc, other.pid());
  const auto of_node = NetworkNamespaceIdOf(kProc, in_node.pid());
  ASSERT_TRUE(of_pod.ok() && of_other.ok() && of_node.ok()) << of_pod.status();
  EXPECT_EQ(NetworkNamespaceIdOf(kProc, sidecar->pid()), of_pod);
  EXPECT_NE(*of_pod, *of_other);
  EXPECT_NE(*of_pod, *of_node);
  EXPECT_NE(*of_other, *of_node);
}

// The kernel's documentation does not guarantee this, so this test checks it.
TEST(NetworkNamespace, IdAgreesWithTheNamespaceLink) {
  ASSERT_EQ(EnterOwnNetwork(), absl::OkStatus());
  const TestPodNetwork pod(1);
  const TestProcess in_node([] {});
  const auto link = [](pid_t pid) {
    return std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/ns/net"));
  };
  for (const pid_t one : {getpid(), pod.pid(), in_node.pid()}) {
    for (const pid_t two : {getpid(), pod.pid(), in_node.pid()}) {
      EXPECT_EQ(NetworkNamespaceIdOf(kProc, one) == NetworkNamespaceIdOf(kProc, two),
                link(one) == link(two));
    }
  }
}

TEST(NetworkNamespace, HasTheAddressesOfItsServers) {
  ASSERT_EQ(EnterOwnNetwork(), absl::OkStatus());
  const TestPodNetwork pod(1);
  ASSERT_TRUE(pod.status().ok()) << pod.status();
  std::unique_ptr<TestServer> server, server_v6;
  pod.RunInside([&] {
    server = std::make_unique<TestServer>("0.0.0.0", kPage);
    server_v6 = std::make_unique<TestServer>(pod.address_v6(), "other");
  });
  const auto network = ReadNetworkNamespace(kProc, pod.pid());
  ASSERT_TRUE(network.ok()) << network.status();
  EXPECT_THAT(network->addresses, ElementsAre(pod.address(), pod.address_v6()));
  ASSERT_EQ(network->listeners.size(), 2u);
  EXPECT_EQ(network->listeners[0].address, "0.0.0.0");
  EXPECT_EQ(network->listeners[1].address, pod.address_v6());
  EXPECT_EQ(GetPage(pod.address(), network->listeners[0].port), kPage);
  EXPECT_EQ(GetPage(pod.address_v6(), network->listeners[1].port), "other");
}

// The kernel lists listeners first, so connections of a busy server do not push them out of the
// part that is read.
TEST(NetworkNamespace, KernelListsListenersBeforeConnections) {
  ASSERT_EQ(EnterOwnNetwork(), absl::OkStatus());
  const TestPodNetwork pod(1);
  ASSERT_TRUE(pod.status().ok()) << pod.status();
  std::unique_ptr<TestServer> server, late;
  pod.RunInside([&] { server = std::make_unique<TestServer>("0.0.0.0", kPage); });
  for (int i = 0; i < 100; ++i) ASSERT_EQ(GetPage(pod.address(), server->port()), kPage);
  pod.RunInside([&] { late = std::make_unique<TestServer>("0.0.0.0", kPage); });
  std::string text;
  pod.RunInside([&] { text = ReadFileText("/proc/thread-self/net/tcp").value(); });
  const size_t first_connection = text.find(" 06 ");  // TIME_WAIT
  ASSERT_NE(first_connection, std::string::npos) << text;
  EXPECT_LT(text.rfind(" 0A "), first_connection) << text;
}

// As in the chart, where the agent is root without capabilities. Affects only this thread.
void DropCapabilities() {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct none[2] = {};
  ASSERT_EQ(syscall(SYS_capset, &header, none), 0);
}

TEST(NetworkNamespace, NeedsNoCapabilitiesUnlikeOpenSockets) {
  ASSERT_EQ(EnterOwnNetwork(), absl::OkStatus());
  const TestPodNetwork pod(1);
  ASSERT_TRUE(pod.status().ok()) << pod.status();
  std::unique_ptr<TestServer> server;
  pod.RunInside([&] { server = std::make_unique<TestServer>("0.0.0.0", kPage); });
  std::thread([&] {
    DropCapabilities();
    const auto network = ReadNetworkNamespace(kProc, pod.pid());
    ASSERT_TRUE(network.ok()) << network.status();
    ASSERT_EQ(network->listeners.size(), 1u);
    EXPECT_EQ(network->listeners[0].port, server->port());
    EXPECT_EQ(network->addresses[0], pod.address());
    // It is root's process, but this thread has no capabilities.
    EXPECT_EQ(SocketsOf(kProc, pod.pid()).status().code(), absl::StatusCode::kPermissionDenied)
        << SocketsOf(kProc, pod.pid()).status();
  }).join();
}

TEST(SocketsOf, AreTheOpenSocketsOfTheProcess) {
  ASSERT_EQ(EnterOwnNetwork(), absl::OkStatus());
  std::unique_ptr<TestServer> theirs;
  const TestProcess process(
      [&] { theirs = std::make_unique<TestServer>("127.0.0.1", kPage, 8000); });
  const TestServer ours("127.0.0.1", kPage, 9000);
  const auto network = ReadNetworkNamespace(kProc, process.pid());
  const auto sockets = SocketsOf(kProc, process.pid());
  ASSERT_TRUE(network.ok() && sockets.ok()) << network.status() << sockets.status();
  ASSERT_EQ(network->listeners.size(), 2u);
  for (const Listener& listener : network->listeners) {
    EXPECT_EQ(sockets->contains(listener.socket), listener.port == 8000) << listener.port;
  }
}

TEST(NetworkNamespace, EndedProcessIsNotFound) {
  ASSERT_EQ(EnterOwnNetwork(), absl::OkStatus());
  pid_t ended = 0;
  {
    const TestProcess process([] {});
    ended = process.pid();
    EXPECT_TRUE(ReadNetworkNamespace(kProc, ended).ok());
    EXPECT_TRUE(SocketsOf(kProc, ended).ok());
  }
  EXPECT_EQ(NetworkNamespaceIdOf(kProc, ended).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadNetworkNamespace(kProc, ended).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(SocketsOf(kProc, ended).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace gpuscaler
