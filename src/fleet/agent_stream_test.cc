#include "fleet/agent_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "base/test_eventually.h"
#include "fleet/test_agent.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "telemetry.pb.h"
#include "wire/client_tls.h"
#include "wire/test_certificates.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// Keeps what it has received.
class Updates : public AgentListener {
 public:
  void Received(const std::string&, AgentUpdate update) override {
    MutexLock lock(mutex_);
    for (AgentUpdate::Reading& reading : update.readings) {
      utilization_.push_back(reading.snapshot.gpus[0].utilization_percent.value_or(-1));
      snapshots_.push_back(std::move(reading.snapshot));
    }
    last_ = std::move(update);
    ++messages_;
    changed_.NotifyAll();
  }
  void Lost(const std::string&, const absl::Status& why) override {
    MutexLock lock(mutex_);
    lost_.push_back(why);
    changed_.NotifyAll();
  }

  // Returns the utilization of all readings once the newest is `value`, or after 10 s.
  std::vector<double> WaitForReading(double value) {
    Wait([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !utilization_.empty() && utilization_.back() == value;
    });
    MutexLock lock(mutex_);
    return utilization_;
  }
  absl::Status WaitForLoss(size_t count = 1) {
    Wait([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return lost_.size() >= count; });
    MutexLock lock(mutex_);
    return lost_.size() < count ? absl::OkStatus() : lost_[count - 1];
  }
  std::vector<absl::Status> losses() {
    MutexLock lock(mutex_);
    return lost_;
  }
  // Blocks until a message has trouble, for 10 s at most.
  AgentUpdate WaitForTrouble() {
    Wait([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !last_.trouble.empty(); });
    return last();
  }
  AgentUpdate last() {
    MutexLock lock(mutex_);
    return last_;
  }
  std::vector<NodeSnapshot> snapshots() {
    MutexLock lock(mutex_);
    return snapshots_;
  }

 private:
  template <typename Condition>
  void Wait(Condition condition) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    MutexLock lock(mutex_);
    while (!condition() && real.Now() < deadline) changed_.WaitFor(mutex_, deadline - real.Now());
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<double> utilization_ ABSL_GUARDED_BY(mutex_);
  std::vector<NodeSnapshot> snapshots_ ABSL_GUARDED_BY(mutex_);
  AgentUpdate last_ ABSL_GUARDED_BY(mutex_);
  int messages_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<absl::Status> lost_ ABSL_GUARDED_BY(mutex_);
};

// The fake clock does not follow real time: the test advances it to what is due.
class AgentStreamTest : public testing::Test {
 protected:
  // The lost call ends a moment after its loss is reported.
  void Reconnect(AgentStream& stream) {
    clock_.Advance(absl::Seconds(2));
    EXPECT_TRUE(Eventually([&] { return stream.Tick(); }));
  }

  std::unique_ptr<AgentStream> Watch(const std::string& address, AgentStreamOptions options = {}) {
    options.history = absl::Minutes(2);
    options.reader = "aggregator-0";
    auto stream = std::make_unique<AgentStream>(options, address, clock_, loop_, received_);
    stream->Tick();
    return stream;
  }

  FakeClock clock_;
  Updates received_;
  EventLoop loop_;
};

TEST_F(AgentStreamTest, ReceivesThePastAndNewReadings) {
  TestAgent agent;
  agent.Read(1);
  const auto stream = Watch(agent.address());
  received_.WaitForReading(1);
  agent.Read(2);
  EXPECT_THAT(received_.WaitForReading(2), testing::ElementsAre(1, 2));
  EXPECT_EQ(received_.last().node, "gpu-7");
  EXPECT_NE(received_.last().instance, 0u);
  EXPECT_EQ(received_.last().trouble, "");
  EXPECT_EQ(stream->counts().attempts, 1);
  EXPECT_GT(stream->counts().bytes, 100);
}

// Other streams of the loop have their turn between its parts.
TEST_F(AgentStreamTest, LongPastIsReadInTurnsOfTheLoop) {
  class Listener : public AgentListener {
   public:
    explicit Listener(EventLoop& loop) : loop_(loop) {}
    void Received(const std::string&, AgentUpdate update) override {
      loop_.Post([this] { ++turns_; });
      MutexLock lock(mutex_);
      turns_of_parts_.push_back(turns_);
      has_all_ = !update.more;
      changed_.NotifyAll();
    }
    void Lost(const std::string&, const absl::Status&) override {}
    std::vector<int> WaitForAll() {
      MutexLock lock(mutex_);
      while (!has_all_) changed_.Wait(mutex_);
      return turns_of_parts_;
    }

   private:
    EventLoop& loop_;
    int turns_ = 0;  // the loop's thread's
    Mutex mutex_;
    CondVar changed_;
    std::vector<int> turns_of_parts_ ABSL_GUARDED_BY(mutex_);
    bool has_all_ ABSL_GUARDED_BY(mutex_) = false;
  };
  TestAgent agent;
  for (int i = 1; i <= 100; ++i) agent.Read(i, 400);
  Listener listener(loop_);
  AgentStream stream({.history = absl::Minutes(2), .reader = "aggregator-0", .connection = {}},
                     agent.address(), clock_, loop_, listener);
  stream.Tick();
  const std::vector<int> turns = listener.WaitForAll();
  ASSERT_GT(turns.size(), 1u);
  for (size_t part = 1; part < turns.size(); ++part) EXPECT_GT(turns[part], turns[part - 1]);
}

TEST_F(AgentStreamTest, WrongClockOfTheAgentDoesNotChangeTheAge) {
  TestAgent agent;
  agent.clock().Advance(absl::Hours(1));
  agent.Read(1);
  agent.clock().Advance(absl::Milliseconds(300));
  const auto stream = Watch(agent.address());
  received_.WaitForReading(1);
  ASSERT_EQ(received_.snapshots().size(), 1u);
  EXPECT_EQ(clock_.Now() - received_.snapshots()[0].taken_at, absl::Milliseconds(300));
}

TEST_F(AgentStreamTest, ImplausibleReadingsAreLoggedOnceInTenMinutes) {
  TestAgent agent;
  testing::internal::CaptureStderr();
  {
    const auto stream = Watch(agent.address());
    for (int i = 1; i <= 3; ++i) {
      agent.Read(-i);
      received_.WaitForReading(-1);
      agent.Read(i);
      received_.WaitForReading(i);
    }
  }
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string line = "level=warn event=reading_implausible address=";
  EXPECT_THAT(log, HasSubstr(line));
  EXPECT_THAT(log, HasSubstr("utilization: its agent reports -1 %"));
  EXPECT_EQ(log.find(line), log.rfind(line)) << log;
}

TEST_F(AgentStreamTest, ReconnectContinuesWhereItWas) {
  auto agent = std::make_unique<TestAgent>();
  const int port = agent->port();
  agent->Read(1);
  const auto stream = Watch(agent->address());
  received_.WaitForReading(1);
  agent = nullptr;
  EXPECT_EQ(received_.WaitForLoss().code(), absl::StatusCode::kUnavailable);
  agent = std::make_unique<TestAgent>(port);
  agent->Read(2);
  stream->Tick();
  EXPECT_EQ(stream->counts().attempts, 1) << "not at once";
  Reconnect(*stream);
  EXPECT_THAT(received_.WaitForReading(2), testing::ElementsAre(1, 2));
}

TEST_F(AgentStreamTest, RefusedConnectionIsALossWithItsReason) {
  const auto stream = Watch("127.0.0.1:1");
  const absl::Status why = received_.WaitForLoss();
  EXPECT_EQ(why.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(why.message()), HasSubstr("refused"));
}

// The kernel accepts connections that no process reads, as with a stopped process.
TEST_F(AgentStreamTest, IdleStreamIsCancelled) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listening, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listening, 8), 0);
  getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
  const auto stream = Watch(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)));
  EXPECT_TRUE(stream->IsCatchingUp());
  clock_.Advance(absl::Seconds(15));
  EXPECT_FALSE(stream->IsCatchingUp()) << "others need not wait for it";
  stream->Tick();
  clock_.Advance(absl::Milliseconds(1));
  stream->Tick();
  const absl::Status why = received_.WaitForLoss();
  EXPECT_EQ(why.message(), "no message for 15s");
  close(listening);
}

TEST_F(AgentStreamTest, CatchesUpUntilTheNewestReading) {
  TestAgent agent;
  agent.Read(1);
  AgentStream stream({.history = absl::Minutes(2)}, agent.address(), clock_, loop_, received_);
  EXPECT_FALSE(stream.Tick(false));
  EXPECT_FALSE(stream.IsCatchingUp());
  EXPECT_EQ(stream.counts().attempts, 0);
  EXPECT_TRUE(stream.Tick(true));
  EXPECT_FALSE(stream.Tick(true)) << "it has begun";
  received_.WaitForReading(1);
  EXPECT_FALSE(stream.IsCatchingUp());
}

TEST_F(AgentStreamTest, MessagesKeepTheStreamOpen) {
  TestAgent agent;
  agent.Read(1);
  const auto stream = Watch(agent.address());
  received_.WaitForReading(1);
  for (int i = 2; i < 10; ++i) {
    clock_.Advance(absl::Seconds(10));
    stream->Tick();
    agent.Read(i);
    received_.WaitForReading(i);
  }
  EXPECT_EQ(stream->counts().attempts, 1);
}

TEST_F(AgentStreamTest, IgnoresTheProxyOfTheEnvironment) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  TestAgent agent;
  agent.Read(1);
  const auto stream = Watch(agent.address());
  EXPECT_THAT(received_.WaitForReading(1), testing::ElementsAre(1));
  unsetenv("http_proxy");
}

TEST_F(AgentStreamTest, SubscriptionIsSentAtOnceAndAfterAReconnect) {
  auto agent = std::make_unique<TestAgent>();
  const int port = agent->port();
  agent->Read(1);
  const auto stream = Watch(agent->address());
  received_.WaitForReading(1);
  constexpr CostlyReadings kWanted{.pcie = true, .activity = true};
  stream->Subscribe(kWanted, absl::Seconds(90));
  double value = 2;
  for (; agent->leases().Subscription(agent->clock().Now()) != kWanted && value < 99; ++value) {
    agent->Read(value);
    received_.WaitForReading(value);
  }
  EXPECT_LT(value, 99);
  agent = nullptr;
  EXPECT_FALSE(received_.WaitForLoss().ok());
  agent = std::make_unique<TestAgent>(port);
  agent->Read(99);
  Reconnect(*stream);
  received_.WaitForReading(99);
  EXPECT_EQ(agent->leases().Subscription(agent->clock().Now() + absl::Seconds(80)), kWanted);
}

// Each request for a costly reading that is missing renews the subscription.
TEST_F(AgentStreamTest, UnchangedSubscriptionIsNotSentAgainWithinSeconds) {
  TestAgent agent;
  agent.Read(1);
  const auto stream = Watch(agent.address());
  received_.WaitForReading(1);
  const absl::Time ends = agent.clock().Now() + absl::Seconds(60);
  const auto is_read = [&] { return agent.leases().Subscription(ends - absl::Seconds(1)).pcie; };
  stream->Subscribe({.pcie = true}, absl::Seconds(60));
  EXPECT_TRUE(Eventually(is_read));
  agent.clock().Advance(absl::Seconds(5));
  stream->Subscribe({.pcie = true}, absl::Seconds(60));
  const Pod former = {.namespace_name = "team-a",
                      .name = "llama-0",
                      .owners = {{"Deployment", "llama"}},
                      .owner_listed_since = clock_.Now()};
  stream->SendFormerPods({former});
  EXPECT_TRUE(Eventually([&] { return !agent.former_pods().empty(); }));
  EXPECT_FALSE(agent.leases().Subscription(ends).pcie);
  clock_.Advance(absl::Seconds(10));
  stream->Subscribe({.pcie = true}, absl::Seconds(60));
  EXPECT_TRUE(Eventually([&] { return agent.leases().Subscription(ends).pcie; }));
}

TEST_F(AgentStreamTest, FormerPodsAreSentOnceACall) {
  TestAgent agent;
  agent.Read(1);
  const auto stream = Watch(agent.address());
  received_.WaitForReading(1);
  const auto send = [&](const std::string& name) {
    stream->SendFormerPods({{.namespace_name = "team-a",
                             .name = name,
                             .owners = {{"Deployment", "llama"}},
                             .owner_listed_since = clock_.Now()}});
  };
  const auto has = [&](const std::string& name) {
    const std::vector<Pod> pods = agent.former_pods();
    return !pods.empty() && pods[0].name == name;
  };
  send("llama-0");
  EXPECT_TRUE(Eventually([&] { return has("llama-0"); }));
  send("llama-1");
  // The next message arrives after it.
  stream->Subscribe({.pcie = true}, absl::Seconds(60));
  const auto is_read = [&] { return agent.leases().Subscription(agent.clock().Now()).pcie; };
  EXPECT_TRUE(Eventually(is_read));
  EXPECT_TRUE(has("llama-0"));
  stream->Replay();
  EXPECT_TRUE(Eventually([&] { return stream->Tick(); }));
  send("llama-1");
  EXPECT_TRUE(Eventually([&] { return has("llama-1"); }));
}

TEST_F(AgentStreamTest, ReplayRequestsTheWholeHistoryAndIsNoLoss) {
  TestAgent agent;
  agent.Read(1);
  const auto stream = Watch(agent.address());
  received_.WaitForReading(1);
  agent.Read(2);
  EXPECT_THAT(received_.WaitForReading(2), testing::ElementsAre(1, 2));
  stream->Replay();
  EXPECT_TRUE(stream->Tick()) << "at once";
  agent.Read(3);
  EXPECT_THAT(received_.WaitForReading(3), testing::ElementsAre(1, 2, 1, 2, 3));
  const std::vector<NodeSnapshot> read = received_.snapshots();
  ASSERT_EQ(read.size(), 5u);
  EXPECT_EQ(read[3].taken_at - read[2].taken_at, absl::Seconds(1)) << "as they were read";
  EXPECT_EQ(stream->counts().attempts, 2);
  EXPECT_THAT(received_.losses(), testing::IsEmpty());
}

TEST_F(AgentStreamTest, AgentBeforeItsFirstReadingHasNoNode) {
  auto agent = std::make_unique<TestAgent>();
  const int port = agent->port();
  agent->Read(1);
  const auto stream = Watch(agent->address());
  received_.WaitForReading(1);
  agent = nullptr;
  EXPECT_FALSE(received_.WaitForLoss().ok());
  agent = std::make_unique<TestAgent>(port);
  Reconnect(*stream);
  EXPECT_EQ(received_.WaitForTrouble().node, "") << "it need not be the same agent";
  agent->Read(2);
  received_.WaitForReading(2);
  EXPECT_EQ(received_.last().node, "gpu-7");
}

// A server that sends one message and ends the call.
class OneMessageServer {
 public:
  OneMessageServer(const telemetry::v1::Telemetry& message, absl::Status end)
      : server_(*WireServer::Start(
            {.bind_address = "127.0.0.1"},
            {{"/gpuscaler.telemetry.v1.NodeTelemetry/Watch",
              [message, end = std::move(end)](const std::shared_ptr<ServerCall>& call) {
                call->Write(message.SerializeAsString());
                call->Finish(end);
                return std::make_unique<IgnoringHandler>();
              }}})) {}
  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

 private:
  class IgnoringHandler : public ServerCall::Handler {
    void OnMessage(std::string) override {}
  };

  const std::unique_ptr<WireServer> server_;
};

TEST_F(AgentStreamTest, NoReadingIsLaterThanItsMessage) {
  const absl::Time wrong = clock_.Now() + absl::Hours(24 * 365 * 200);
  NodeSnapshot snapshot = SnapshotOf(1, wrong);
  snapshot.gpus[0].utilization_percent = 7;
  telemetry::v1::Telemetry message;
  message.set_sent_us(absl::ToUnixMicros(clock_.Now()));
  *message.mutable_node() = NodeOf(snapshot);
  *message.add_readings() = WholeReading(snapshot);
  message.mutable_readings(0)->set_before_until_us(absl::ToUnixMicros(wrong));
  message.set_unchanged_until_us(absl::ToUnixMicros(wrong) + 1);
  OneMessageServer agent(message, absl::OkStatus());
  const auto stream = Watch(agent.address());
  received_.WaitForReading(7);
  EXPECT_EQ(received_.snapshots()[0].taken_at, clock_.Now());
  EXPECT_EQ(received_.last().readings[0].previous_confirmed_at, clock_.Now());
  EXPECT_EQ(received_.last().newest_confirmed_at, std::nullopt);
}

TEST_F(AgentStreamTest, LossWithoutAReasonHasAText) {
  OneMessageServer agent({}, absl::UnavailableError(""));
  const auto stream = Watch(agent.address());
  EXPECT_EQ(received_.WaitForLoss(), absl::UnavailableError("no reason was given"));
}

TEST_F(AgentStreamTest, ServerThatIsNotAnAgentIsNamed) {
  OneMessageServer other({}, absl::UnimplementedError(""));
  const auto stream = Watch(other.address());
  EXPECT_EQ(received_.WaitForLoss(),
            absl::UnimplementedError("it answers, and is no agent (a scaler's port?)"));
}

TEST_F(AgentStreamTest, EndOfTheStreamIsALoss) {
  OneMessageServer agent({}, absl::OkStatus());
  const auto stream = Watch(agent.address());
  EXPECT_EQ(received_.WaitForLoss(), absl::UnavailableError("the agent has ended the stream"));
}

TEST_F(AgentStreamTest, ServerWithoutTheMethodIsALoss) {
  const auto server = *WireServer::Start({.bind_address = "127.0.0.1"}, {});
  const auto stream = Watch(absl::StrCat("127.0.0.1:", server->port()));
  EXPECT_EQ(received_.WaitForLoss().code(), absl::StatusCode::kUnimplemented);
}

class AgentStreamTlsTest : public AgentStreamTest {
 protected:
  static TlsPems Server(const TestCa& ca, const TestCa& clients) {
    const TestCertificate pair = ca.Issue("agent");
    return {.cert = pair.cert, .key = pair.key, .ca = clients.pem()};
  }
  static AgentStreamOptions Client(const TestCa& ca, const TestCa& servers) {
    const TestCertificate pair = ca.Issue("aggregator");
    const auto tls = ClientTls({.cert = pair.cert, .key = pair.key, .ca = servers.pem()});
    EXPECT_TRUE(tls.ok()) << tls.status();
    return {
        .connection = {.tls = [context = *tls] { return context; }, .server_name = "localhost"}};
  }

  const TestCa ours_{"ours"};
  const TestCa theirs_{"theirs"};
};

TEST_F(AgentStreamTlsTest, BothShowTheirCertificates) {
  TestAgent agent(0, "gpu-7", Server(ours_, ours_));
  agent.Read(1);
  const auto stream = Watch(agent.address(), Client(ours_, ours_));
  EXPECT_THAT(received_.WaitForReading(1), testing::ElementsAre(1));
}

TEST_F(AgentStreamTlsTest, AgentIsAcceptedForTheNodeInItsCertificate) {
  const TestCertificate pair = ours_.IssueNamed("GPU-7.example");
  TestAgent agent(0, "gpu-7.example",
                  TlsPems{.cert = pair.cert, .key = pair.key, .ca = ours_.pem()});
  agent.Read(1);
  AgentStreamOptions options = Client(ours_, ours_);
  options.connection.binds_node_name = true;
  const auto stream = Watch(agent.address(), options);
  EXPECT_THAT(received_.WaitForReading(1), testing::ElementsAre(1));
  agent.Read(2);
  EXPECT_THAT(received_.WaitForReading(2), testing::ElementsAre(1, 2));
}

struct OtherName {
  const char* node;
  const char* name;  // in the certificate
};
class OtherNodeTest : public AgentStreamTlsTest, public testing::WithParamInterface<OtherName> {};

INSTANTIATE_TEST_SUITE_P(Names, OtherNodeTest,
                         testing::Values(OtherName{"gpu-7", "gpu-8"},
                                         OtherName{"gpu-7", "gpu-7.example"},
                                         OtherName{"gpu-7", "gpu"},
                                         OtherName{"gpu-7.example", "*.example"}));

TEST_P(OtherNodeTest, AgentIsRejected) {
  const auto [node, name] = GetParam();
  const TestCertificate pair = ours_.IssueNamed(name);
  TestAgent agent(0, node, TlsPems{.cert = pair.cert, .key = pair.key, .ca = ours_.pem()});
  agent.Read(1);
  AgentStreamOptions options = Client(ours_, ours_);
  options.connection.binds_node_name = true;
  const int64_t refused = CountedHandshakes(HandshakeFault::kWrongNode);
  const auto stream = Watch(agent.address(), options);
  EXPECT_EQ(received_.WaitForLoss(),
            absl::PermissionDeniedError(
                absl::StrCat("its certificate must have the DNS name of its node, \"", node,
                             "\", and has localhost, ", name, " (--agent-identity=san)")));
  EXPECT_EQ(CountedHandshakes(HandshakeFault::kWrongNode), refused + 1);
  EXPECT_TRUE(received_.snapshots().empty());
}

TEST_F(AgentStreamTlsTest, AgentOfAnotherCaIsRefused) {
  TestAgent agent(0, "gpu-7", Server(theirs_, ours_));
  agent.Read(1);
  const auto stream = Watch(agent.address(), Client(ours_, ours_));
  const absl::Status why = received_.WaitForLoss();
  EXPECT_EQ(why.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(why.message()), HasSubstr("certificate verify failed"));
  EXPECT_TRUE(received_.snapshots().empty());
}

TEST_F(AgentStreamTlsTest, AggregatorOfAnotherCaIsRejected) {
  TestAgent agent(0, "gpu-7", Server(ours_, ours_));
  agent.Read(1);
  const auto stream = Watch(agent.address(), Client(theirs_, ours_));
  EXPECT_EQ(received_.WaitForLoss().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(received_.snapshots().empty());
}

TEST_F(AgentStreamTlsTest, AgentWithoutTlsIsALossWithAdvice) {
  TestAgent agent;
  const auto stream = Watch(agent.address(), Client(ours_, ours_));
  EXPECT_THAT(std::string(received_.WaitForLoss().message()), HasSubstr("has no TLS"));
}

TEST_F(AgentStreamTlsTest, AggregatorWithoutTlsGetsAdvice) {
  TestAgent agent(0, "gpu-7", Server(ours_, ours_));
  const auto stream = Watch(agent.address());
  EXPECT_THAT(std::string(received_.WaitForLoss().message()), HasSubstr("does the agent need TLS"));
}

}  // namespace
}  // namespace gpuscaler
