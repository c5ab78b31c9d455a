// `serve` when the system denies it resources that it usually has.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bound_port.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "process.h"
#include "serve/test_http_client.h"
#include "wire/test_socket.h"

namespace gpuscaler {
namespace {

std::string IdleSource() {
  return absl::StrCat("--gpu-source=file:", WriteTestFile("gpus.json", R"({"gpus": [
    {"index": 0, "uuid": "GPU-a", "name": "Sim", "utilization_percent": 0,
     "memory_used_bytes": 0, "memory_total_bytes": 80000}]})"));
}

// Returns a TCP connection to `port` of loopback, or -1.
int Connect(int family, int port) {
  sockaddr_in6 v6 = {};
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port = htons(static_cast<uint16_t>(port));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  const int connection = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int result = family == AF_INET
                         ? connect(connection, reinterpret_cast<const sockaddr*>(&v4), sizeof(v4))
                         : connect(connection, reinterpret_cast<const sockaddr*>(&v6), sizeof(v6));
  if (result == 0) return connection;
  close(connection);
  return -1;
}

bool Answers(int family, int port) {
  const int connection = Connect(family, port);
  if (connection < 0) return false;
  close(connection);
  return true;
}

void AllowDescriptors(rlim_t count) {
  const rlimit limit = {.rlim_cur = count, .rlim_max = count};
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(Adversity, GrpcPortOutlivesAShortageOfDescriptors) {
  Server server({IdleSource()}, {}, [] { AllowDescriptors(64); });
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  std::vector<int> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(Connect(AF_INET, server.Port("grpc")));
  EXPECT_TRUE(server.process().WaitForErr("event=accept_failed why=\"Too many open files\""))
      << server.process().Err();
  for (const int client : clients) close(client);
  Finished query;
  EXPECT_TRUE(Eventually([&] {
    query = RunProgram({"query", server.Address(), "metricType=gpu_utilization", "window=0s"});
    return query.code == 0;
  })) << query.out;
}

// Clients that send nothing use up the connections that each port allows.
TEST(Adversity, ProbesAreAnsweredInAShortageOfDescriptors) {
  constexpr int kDescriptors = 256;
  Server server({IdleSource(), "--poll-interval=50ms"}, {}, [] { AllowDescriptors(kDescriptors); });
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  std::vector<int> clients;
  for (int i = 0; i < kDescriptors; ++i) {
    // A client address may have 128 connections before their handshake.
    const std::string from = absl::StrCat("127.0.5.", 1 + i % 4);
    clients.push_back(ConnectFrom(from.c_str(), server.Port("grpc")));
  }
  for (int i = 0; i < kDescriptors; ++i) {
    clients.push_back(Connect(AF_INET, server.Port("metrics")));
  }
  EXPECT_TRUE(server.process().WaitForErr("event=accept_failed")) << server.process().Err();
  for (int i = 0; i < 20; ++i) {
    const auto health = Request(server.Port("probe"), "GET", "/healthz");
    ASSERT_TRUE(health.ok()) << i << ": " << health.status();
    EXPECT_EQ(health->status, 200) << health->body;
  }
  const auto page = Request(server.Port("metrics"), "GET", "/metrics");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(server.process().Err().find("event=gpu_source_lost"), std::string::npos)
      << server.process().Err();
  for (const int client : clients) close(client);
}

TEST(Adversity, KubeletIsPolledAgainAfterAShortageOfDescriptors) {
  const TestFolder folder;
  const FakeKubelet kubelet(folder.path());
  Server server({IdleSource(), "--attribution=kubelet",
                 absl::StrCat("--pod-resources-socket=", kubelet.pod_resources_socket())});
  ASSERT_TRUE(server.process().WaitForErr("event=kubelet_found")) << server.process().Diagnostics();
  rlimit before;
  ASSERT_EQ(prlimit(server.process().pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  rlimit fewer = before;
  fewer.rlim_cur = 3;
  ASSERT_EQ(prlimit(server.process().pid(), RLIMIT_NOFILE, &fewer, nullptr), 0);
  ASSERT_TRUE(server.process().WaitForErr("event=kubelet_lost")) << server.process().Diagnostics();
  ASSERT_EQ(prlimit(server.process().pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_TRUE(Eventually([&] {
    const std::string log = server.process().Err();
    return log.rfind("event=kubelet_found") > log.find("event=kubelet_lost");
  })) << server.process().Diagnostics();
}

TEST(Adversity, ClosedStandardStreamsAreNotReused) {
  // With its streams closed it cannot print its port.
  const auto port = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(port.ok()) << port.status();
  Process process(
      {"serve", "--port=any", "--metrics-port=0", absl::StrCat("--probe-port=", port->port()),
       "--web-port=0", "--bind-address=127.0.0.1", IdleSource()},
      {}, "", {}, [] {
        for (const int stream : {0, 1, 2}) close(stream);
      });
  ASSERT_TRUE(Eventually([&] { return Request(port->port(), "GET", "/readyz").ok(); }));
  for (const int stream : {0, 1, 2}) {
    const auto link = absl::StrCat("/proc/", process.pid(), "/fd/", stream);
    EXPECT_EQ(std::filesystem::read_symlink(link), "/dev/null") << stream;
  }
}

// A pipe for standard error with a reader that can stop reading.
class StallingReader {
 public:
  StallingReader() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) std::abort();
  }
  ~StallingReader() {
    close(ends_[0]);
    close(ends_[1]);
  }
  void BecomeStderr() const { dup2(ends_[1], STDERR_FILENO); }

  // Returns the output up to and including `text`, or as much as arrives before a pause of 20 s.
  std::string ReadUntil(absl::string_view text) const {
    std::string all;
    std::array<char, 4096> part{};
    pollfd readable = {.fd = ends_[0], .events = POLLIN, .revents = 0};
    while (!absl::StrContains(all, text) && poll(&readable, 1, 20'000) == 1) {
      const ssize_t size = read(ends_[0], part.data(), part.size());
      if (size <= 0) break;
      all.append(part.data(), static_cast<size_t>(size));
    }
    return all;
  }

  // From now on one page fills the pipe, and nothing reads it.
  void Stall() const { ASSERT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, 4096), 4096); }

 private:
  std::array<int, 2> ends_{};
};

TEST(Adversity, AStalledLogReaderDelaysNoClient) {
  const StallingReader reader;
  Process process({"serve", "--port=any", "--metrics-port=0", "--probe-port=0", IdleSource(),
                   "--web-port=0", "--bind-address=127.0.0.1"},
                  {}, "", {}, [&] { reader.BecomeStderr(); });
  const std::string log = reader.ReadUntil(" metrics_port=");
  const size_t at = log.find(" grpc_port=");
  ASSERT_NE(at, std::string::npos) << log;
  reader.Stall();
  const std::string address = absl::StrCat("127.0.0.1:", std::atoi(log.c_str() + at + 11));
  // Each request is a new trigger with a mistake, which is logged.
  for (int i = 0; i < 15; ++i) {
    const Finished query = RunProgram(
        {"query", address, absl::StrCat("--name=", std::string(500, 'n'), i), "targetValeu=80"});
    ASSERT_EQ(query.code, 1) << i << "\n" << query.out << query.err;
  }
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
}

TEST(Adversity, EveryPortListensOnTheBindAddress) {
  struct Case {
    std::string address;
    bool ipv6;
  };
  for (const Case& test : {Case{"::", true}, Case{"0.0.0.0", false}}) {
    Server server({"--gpu-source=none", "--bind-address", test.address});
    ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
    for (const std::string which : {"grpc", "metrics", "probe"}) {
      EXPECT_TRUE(Answers(AF_INET, server.Port(which))) << test.address << " " << which;
      EXPECT_EQ(Answers(AF_INET6, server.Port(which)), test.ipv6) << test.address << " " << which;
    }
    // The web port has an address of its own, 127.0.0.1.
    EXPECT_TRUE(Answers(AF_INET, server.Port("web"))) << test.address;
    EXPECT_FALSE(Answers(AF_INET6, server.Port("web"))) << test.address;
  }
}

// Makes socket() fail as on a kernel without IPv6.
void DenyIpv6() {
  std::array<sock_filter, 6> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(125);
}

TEST(Adversity, WithoutIpv6TheDefaultAddressIsAllOfIpv4) {
  Process process({"serve", "--gpu-source=none", "--port=any", "--metrics-port=any",
                   "--probe-port=any", "--web-port=any"},
                  {}, "", {}, &DenyIpv6);
  ASSERT_TRUE(process.WaitForErr("event=serving")) << process.Err();
  for (const std::string which : {" grpc_port=", " metrics_port=", " probe_port=", " web_port="}) {
    const std::string log = process.Err();
    EXPECT_TRUE(Answers(AF_INET, std::atoi(log.c_str() + log.find(which) + which.size()))) << which;
  }
}

}  // namespace
}  // namespace gpuscaler
