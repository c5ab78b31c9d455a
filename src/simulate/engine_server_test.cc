#include "simulate/engine_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr absl::Duration kTestStaleness = absl::Seconds(20);

// A persistent connection.
class EngineClient {
 public:
  explicit EngineClient(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~EngineClient() { close(socket_); }
  EngineClient(const EngineClient&) = delete;
  EngineClient& operator=(const EngineClient&) = delete;

  bool connected() const { return connected_; }

  void Send(const std::string& method, const std::string& path, const std::string& body = "") {
    const std::string text = absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: x\r\n",
                                          "Content-Length: ", body.size(), "\r\n\r\n", body);
    EXPECT_EQ(send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  void Complete(int max_tokens) {
    Send("POST", "/v1/completions",
         absl::StrCat(R"({"prompt": "hello", "max_tokens": )", max_tokens, "}"));
  }

  // Returns the next reply, or what was received until the connection ended or `timeout` passed.
  std::string Reply(absl::Duration timeout = kTestStaleness) {
    while (true) {
      const size_t head = read_.find("\r\n\r\n");
      size_t length = 0;
      const size_t at = read_.find("Content-Length: ");
      if (head != std::string::npos && at != std::string::npos && at < head) {
        length = static_cast<size_t>(std::atoll(read_.c_str() + at + 16));
      }
      if (head != std::string::npos && at != std::string::npos &&
          read_.size() >= head + 4 + length) {
        std::string reply = read_.substr(0, head + 4 + length);
        read_.erase(0, reply.size());
        return reply;
      }
      if (!ReadMore(timeout)) return std::exchange(read_, "");
    }
  }
  std::string Body() {
    const std::string reply = Reply();
    const size_t head = reply.find("\r\n\r\n");
    return head == std::string::npos ? "" : reply.substr(head + 4);
  }

  bool ReadMore(absl::Duration timeout) {
    pollfd readable = {.fd = socket_, .events = POLLIN};
    if (poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout))) != 1) {
      return false;
    }
    char buffer[65536];
    const ssize_t count = recv(socket_, buffer, sizeof(buffer), 0);
    if (count <= 0) return false;
    read_.append(buffer, static_cast<size_t>(count));
    return true;
  }
  size_t read() const { return read_.size(); }

 private:
  const int socket_;
  bool connected_ = false;
  std::string read_;
};

class EngineServerTest : public testing::Test {
 protected:
  // 4 requests at once, 1000 tokens per second each.
  EngineServerTest() {
    options_.model = "llama";
    options_.batch = {.max_num_seqs = 4, .kv_cache_tokens = 1'000'000, .step = {.base = 0.001}};
  }

  void Start() {
    auto bound = BoundPort::Open("127.0.0.1", 0);
    ASSERT_TRUE(bound.ok()) << bound.status();
    port_ = bound->port();
    auto server = EngineServer::Start(options_, *std::move(bound), clock_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  bool Becomes(const std::function<bool(const EngineGauges&)>& condition) const {
    const absl::Time deadline = clock_.Now() + kTestStaleness;
    while (!condition(server_->Gauges())) {
      if (clock_.Now() > deadline) return false;
      usleep(1000);
    }
    return true;
  }

  const SteadyClock clock_;
  EngineServerOptions options_;
  int port_ = 0;
  std::unique_ptr<EngineServer> server_;
};

TEST_F(EngineServerTest, AnswersAfterTheTimeOfItsTokens) {
  Start();
  EngineClient client(port_);
  const absl::Time began = clock_.Now();
  client.Complete(100);
  const std::string reply = client.Reply();
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(reply, HasSubstr("\"completion_tokens\":100"));
  EXPECT_GE(clock_.Now() - began, absl::Milliseconds(100));
  client.Send("GET", "/metrics");
  EXPECT_THAT(client.Reply(), HasSubstr("vllm:request_success_total{engine=\"0\",model_name="
                                        "\"llama\",finished_reason=\"length\"} 1\n"));
}

TEST_F(EngineServerTest, ServesAnEnginesPages) {
  Start();
  EngineClient client(port_);
  client.Send("GET", "/health");
  EXPECT_THAT(client.Reply(), StartsWith("HTTP/1.1 200"));
  client.Send("GET", "/v1/models");
  EXPECT_EQ(nlohmann::json::parse(client.Body())["data"][0]["id"], "llama");
  client.Send("POST", "/v1/chat/completions",
              R"({"messages": [{"role": "user", "content": "x"}]})");
  EXPECT_EQ(nlohmann::json::parse(client.Body())["object"], "chat.completion");
}

TEST_F(EngineServerTest, ReportsInvalidRequests) {
  Start();
  const struct {
    const char* method;
    const char* path;
    std::string body;
    const char* want;
  } cases[] = {
      {"POST", "/v1/completions", "{", "HTTP/1.1 400"},
      {"POST", "/v1/completions", R"({"prompt": "a", "model": "x"})", "HTTP/1.1 404"},
      {"POST", "/v1/completions", R"({"prompt": "a", "max_tokens": 5000000})", "HTTP/1.1 400"},
      {"POST", "/v1/completions", std::string((1 << 20) + 1, ' '), "HTTP/1.1 413"},
      {"GET", "/v1/completions", "", "HTTP/1.1 405"},
      {"POST", "/metrics", "{}", "HTTP/1.1 405"},
      {"GET", "/none", "", "HTTP/1.1 404"},
  };
  for (const auto& test : cases) {
    EngineClient client(port_);
    client.Send(test.method, test.path, test.body);
    EXPECT_THAT(client.Reply(), StartsWith(test.want)) << test.method << " " << test.path;
  }
}

TEST_F(EngineServerTest, ARequestTooLargeForTheCacheKeepsTheConnection) {
  options_.batch.kv_cache_tokens = 100;
  Start();
  EngineClient client(port_);
  client.Complete(100);
  EXPECT_THAT(client.Reply(), StartsWith("HTTP/1.1 400"));
  client.Complete(1);
  EXPECT_THAT(client.Reply(), StartsWith("HTTP/1.1 200"));
}

size_t Threads() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

TEST_F(EngineServerTest, HoldsHundredsOfRequestsBesideThousandsOfIdleConnections) {
  rlimit files = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  options_.batch.max_num_seqs = 100;
  options_.batch.kv_cache_tokens = 300 * 100'000;  // no request is preempted
  Start();
  const size_t threads = Threads();
  std::vector<std::unique_ptr<EngineClient>> silent;
  for (int i = 0; i < 2000; ++i) silent.push_back(std::make_unique<EngineClient>(port_));
  std::vector<std::unique_ptr<EngineClient>> asking;
  for (int i = 0; i < 300; ++i) {
    asking.push_back(std::make_unique<EngineClient>(port_));
    asking.back()->Complete(100'000);
  }
  EXPECT_TRUE(
      Becomes([](const EngineGauges& now) { return now.running == 100 && now.waiting == 200; }));
  EXPECT_EQ(Threads(), threads);
  asking.clear();
  EXPECT_TRUE(Becomes([](const EngineGauges& now) { return now.running + now.waiting == 0; }));
  EXPECT_EQ(server_->Totals().aborted, 300);
}

TEST_F(EngineServerTest, RequestsOfDepartedClientsLeaveQueueAndBatch) {
  Start();
  std::vector<std::unique_ptr<EngineClient>> asking;
  for (int i = 0; i < 6; ++i) {
    asking.push_back(std::make_unique<EngineClient>(port_));
    asking.back()->Complete(100'000);
  }
  ASSERT_TRUE(
      Becomes([](const EngineGauges& now) { return now.running == 4 && now.waiting == 2; }));
  asking.clear();
  EXPECT_TRUE(Becomes([](const EngineGauges& now) { return now.running + now.waiting == 0; }));
  EXPECT_EQ(server_->Totals().aborted, 6);
  EXPECT_TRUE(server_->WaitUntilAnswered(kTestStaleness));
}

TEST_F(EngineServerTest, HangKeepsConnectionsWithoutAnswers) {
  options_.fault = EngineFault::kHang;
  options_.fault_after = 1;
  Start();
  EngineClient served(port_), page(port_), late(port_);
  served.Complete(1);
  EXPECT_THAT(served.Reply(), StartsWith("HTTP/1.1 200"));
  page.Send("GET", "/metrics");
  EXPECT_EQ(page.Reply(absl::Milliseconds(200)), "");
  EXPECT_TRUE(late.connected());
  server_.reset();
  EXPECT_FALSE(page.ReadMore(kTestStaleness)) << "the end of the process ends the connection";
}

TEST_F(EngineServerTest, FaultyPagesMatchTheirNames) {
  const struct {
    EngineFault fault;
    const char* want;
    size_t at_least;
  } cases[] = {
      {EngineFault::kBigPage, "HTTP/1.1 200", size_t{10} << 20},
      {EngineFault::kGarbage, "HTTP/1.1 200", size_t{64} << 10},
      {EngineFault::kRedirect, "HTTP/1.1 302", 0},
      {EngineFault::kError, "HTTP/1.1 500", 0},
  };
  for (const auto& test : cases) {
    options_.fault = test.fault;
    Start();
    EngineClient client(port_);
    client.Send("GET", "/metrics");
    const std::string reply = client.Reply();
    EXPECT_THAT(reply.substr(0, 20), StartsWith(test.want));
    EXPECT_GE(reply.size(), test.at_least);
    const bool redirected = reply.find("169.254.169.254") != std::string::npos;
    EXPECT_EQ(redirected, test.fault == EngineFault::kRedirect);
  }
}

TEST_F(EngineServerTest, EndlessPageDoesNotEnd) {
  options_.fault = EngineFault::kEndless;
  Start();
  EngineClient client(port_), other(port_);
  client.Send("GET", "/metrics");
  while (client.read() < (size_t{8} << 20)) ASSERT_TRUE(client.ReadMore(kTestStaleness));
  other.Complete(1);
  EXPECT_THAT(other.Reply(), StartsWith("HTTP/1.1 200")) << "it delays no client";
}

TEST_F(EngineServerTest, CrashesAfterTheConfiguredCompletions) {
  options_.fault = EngineFault::kCrash;
  options_.fault_after = 2;
  options_.crash = [] { std::_Exit(42); };
  EXPECT_EXIT(
      {
        Start();
        EngineClient client(port_);
        for (int served = 0; served < 2; ++served) {
          client.Complete(1);
          if (!absl::StartsWith(client.Reply(), "HTTP/1.1 200")) std::_Exit(1);
        }
        client.Complete(1);
        client.Reply();
        std::_Exit(0);
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(EngineServerTest, DrainAnswersAcceptedRequestsAndRefusesNewOnes) {
  Start();
  EngineClient running(port_), kept(port_);
  kept.Complete(1);
  EXPECT_THAT(kept.Reply(), StartsWith("HTTP/1.1 200"));
  running.Complete(3000);
  ASSERT_TRUE(Becomes([](const EngineGauges& now) { return now.running == 1; }));
  server_->StopAccepting();
  EXPECT_FALSE(EngineClient(port_).connected());
  kept.Complete(1);
  EXPECT_THAT(kept.Reply(), StartsWith("HTTP/1.1 503"));
  EXPECT_FALSE(server_->WaitUntilAnswered(absl::ZeroDuration()));
  EXPECT_TRUE(server_->WaitUntilAnswered(kTestStaleness));
  EXPECT_THAT(running.Reply(), StartsWith("HTTP/1.1 200"));
}

TEST_F(EngineServerTest, StopEndsRunningRequests) {
  Start();
  EngineClient running(port_);
  running.Complete(100'000);
  ASSERT_TRUE(Becomes([](const EngineGauges& now) { return now.running == 1; }));
  server_.reset();
  EXPECT_EQ(running.Reply(), "");
}

TEST_F(EngineServerTest, PortIsBoundAndRefusesWhileAModelLoads) {
  auto bound = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(bound.ok()) << bound.status();
  const int port = bound->port();
  EXPECT_GT(port, 0);
  EXPECT_FALSE(EngineClient(port).connected());
  const auto server = EngineServer::Start(options_, *std::move(bound), clock_);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(EngineClient(port).connected());
}

}  // namespace
}  // namespace gpuscaler
