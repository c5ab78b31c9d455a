// The CPU time that the session of a client costs its address.
#include "wire/server_session.h"

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/test_ca.h"
#include "base/test_eventually.h"
#include "base/thread_cpu_time.h"
#include "gtest/gtest.h"
#include "wire/client_tls.h"
#include "wire/test_frames.h"
#include "wire/tls_pem.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kWork = absl::Milliseconds(200);  // more than loop_at_once

void Compute() {
  const absl::Duration began = ThreadCpuTime();
  while (ThreadCpuTime() - began < kWork) continue;
}

// A blocked thread takes no CPU time, like one that is preempted.
void Sleep() { absl::SleepFor(kWork); }

// Answers after `work`.
class Answer : public ServerCall::Handler {
 public:
  Answer(const std::shared_ptr<ServerCall>& call, const std::function<void()>& work) {
    work();
    call->Finish(absl::OkStatus());
  }
  void OnMessage(std::string) override {}
};

// Works when its client has left.
class WorkAtEnd : public ServerCall::Handler {
 public:
  explicit WorkAtEnd(const std::shared_ptr<ServerCall>& call) { call->SendHeaders(); }
  void OnMessage(std::string) override {}
  void OnEnd() override { Compute(); }
};

class AnswerMuch : public ServerCall::Handler {
 public:
  explicit AnswerMuch(const std::shared_ptr<ServerCall>& call) {
    call->Write(std::string(60'000, 'x'));
  }
  void OnMessage(std::string) override {}
};

class ServerSessionTest : public testing::Test {
 protected:
  template <typename Task>
  void RunOnLoop(const Task& task) {
    std::promise<void> done;
    loop_.Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  // A client, and its session until the session has closed.
  class Connection {
   public:
    explicit Connection(ServerSessionTest& test) : test_(test) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      fcntl(ends[0], F_SETFL, O_NONBLOCK);
      const int small = 4096;
      setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
      client_ = std::make_unique<RawPeer>(ends[1]);
      test.RunOnLoop([&] {
        session_ = std::make_unique<ServerSession>(
            bufferevent_socket_new(test.loop_.base(), ends[0],
                                   BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS),
            "10.0.0.7", test.server_, test.address_, [this](ServerSession*) {
              session_ = nullptr;
              closed_.set_value();
            });
      });
      client_->Send(std::string(kPreface) + Encode({FrameType::kSettings}));
    }
    ~Connection() { Leave(); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    RawPeer& client() { return *client_; }
    size_t QueuedFrames() {
      size_t queued = 0;
      test_.RunOnLoop([&] { queued = nghttp2_session_get_outbound_queue_size(session_->http2()); });
      return queued;
    }
    void Leave() {
      if (client_ == nullptr) return;
      client_ = nullptr;
      closed_.get_future().wait();
    }

   private:
    ServerSessionTest& test_;
    std::unique_ptr<RawPeer> client_;
    std::unique_ptr<ServerSession> session_;  // belongs to the loop's thread
    std::promise<void> closed_;
  };

  // Returns true if a client that makes a call and then leaves has used up its address' part of the
  // loop.
  bool IsOverdrawnAfter(const std::string& method) {
    Connection connection(*this);
    connection.client().Send(CallHead(1, method) + DataFrame(1, "", kEndStream));
    EXPECT_TRUE(connection.client().Read(FrameType::kHeaders).has_value());
    connection.Leave();
    bool is_overdrawn = false;
    RunOnLoop([&] { is_overdrawn = address_.loop_seconds.IsOverdrawn(clock_.Now()); });
    return is_overdrawn;
  }

  const SteadyClock clock_;
  LimitLog log_{clock_};
  EventLoop loop_;
  const Methods methods_ = {
      {"/Compute", [](auto& call) { return std::make_unique<Answer>(call, Compute); }},
      {"/Sleep", [](auto& call) { return std::make_unique<Answer>(call, Sleep); }},
      {"/Much", [](auto& call) { return std::make_unique<AnswerMuch>(call); }},
      {"/WorkAtEnd", [](auto& call) { return std::make_unique<WorkAtEnd>(call); }}};
  ServerContext server_{methods_, {.loop_per_second = 0}, clock_, log_, loop_};
  AddressContext address_{server_};
};

TEST_F(ServerSessionTest, AddressIsChargedForCpuTime) { EXPECT_TRUE(IsOverdrawnAfter("/Compute")); }

TEST_F(ServerSessionTest, AddressIsNotChargedWhileTheLoopIsPreempted) {
  EXPECT_FALSE(IsOverdrawnAfter("/Sleep"));
}

TEST_F(ServerSessionTest, AddressIsChargedForTheEndOfItsConnection) {
  EXPECT_TRUE(IsOverdrawnAfter("/WorkAtEnd"));
}

// The answer to a call that its client has reset stays in nghttp2's queue, and no limit counts it.
TEST_F(ServerSessionTest, ClientThatDoesNotReadAnswersIsNotRead) {
  Connection connection(*this);
  connection.client().Send(CallHead(1, "/Much") + DataFrame(1, "", kEndStream));
  ASSERT_TRUE(connection.client().Read(FrameType::kHeaders).has_value());
  // Its socket and the output buffer become full.
  while (connection.QueuedFrames() == 0) {
    connection.client().Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
  }
  std::string calls;
  for (uint32_t stream = 3; stream < 403; stream += 2) {
    calls += CallHead(stream, "/None") + ResetFrame(stream);
  }
  calls += CallHead(403, "/None") + DataFrame(403, "", kEndStream);
  connection.client().Send(calls);
  const absl::Time end = absl::Now() + absl::Seconds(20);
  while (connection.QueuedFrames() <= 20 && absl::Now() < end) continue;
  EXPECT_GT(connection.QueuedFrames(), 20u);
  EXPECT_LT(connection.QueuedFrames(), 40u) << "of 200 answers";
  std::optional<Frame> frame;
  do {
    frame = connection.client().Read();
    ASSERT_TRUE(frame.has_value());
  } while (frame->stream != 403);
}

// Events of low priority are due only when no others are: here they never are.
TEST_F(ServerSessionTest, ConnectionIsServedInTurnOnceItsAddressHasRecovered) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.Issue("server");
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  ASSERT_TRUE(UseCertificate(context.get(), pair.cert, pair.key).ok());
  ServerContext server{methods_, {.loop_at_once = 10, .loop_per_second = 10}, clock_, log_, loop_};
  AddressContext address{server};
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const RawPeer peer(ends[1]);  // closes it, and limits the time of reads
  std::unique_ptr<ServerSession> session;
  RunOnLoop([&] {
    address.loop_seconds.Charge(clock_.Now(), 11);
    session = std::make_unique<ServerSession>(
        bufferevent_openssl_socket_new(loop_.base(), ends[0], SSL_new(context.get()),
                                       BUFFEREVENT_SSL_ACCEPTING,
                                       BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS),
        "10.0.0.7", server, address, [&](ServerSession*) { session = nullptr; });
  });
  EXPECT_TRUE(Eventually([&] {
    bool is_overdrawn = true;
    RunOnLoop([&] { is_overdrawn = address.loop_seconds.IsOverdrawn(clock_.Now()); });
    return !is_overdrawn;
  }));
  const auto trusting = ClientTls({.ca = ca.pem()});
  ASSERT_TRUE(trusting.ok()) << trusting.status();
  const auto tls = ClientTlsOf(trusting->get(), "localhost");
  SSL_set_mode(tls.get(), SSL_MODE_AUTO_RETRY);  // reads beyond the session tickets
  SSL_set_fd(tls.get(), ends[1]);
  ASSERT_EQ(SSL_do_handshake(tls.get()), 1);
  const auto is_answered = [&](const std::string& bytes, char answer) {
    SSL_write(tls.get(), bytes.data(), static_cast<int>(bytes.size()));
    char byte = 0;
    while (SSL_read(tls.get(), &byte, 1) == 1) {
      if (byte == answer) return true;
    }
    return false;
  };
  const std::string ping = Encode({FrameType::kPing, 0, 0, std::string(8, 'p')});
  ASSERT_TRUE(is_answered(absl::StrCat(kPreface, Encode({FrameType::kSettings}), ping), 'p'));

  std::atomic<bool> is_over = false;
  std::function<void()> again = [&] {
    if (!is_over) loop_.Post(again);
  };
  loop_.Post(again);
  EXPECT_TRUE(is_answered(Encode({FrameType::kPing, 0, 0, std::string(8, 'q')}), 'q'));
  is_over = true;
  RunOnLoop([&] { session = nullptr; });
}

}  // namespace
}  // namespace gpuscaler
