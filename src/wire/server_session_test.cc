// The CPU time that the session of a client costs its address.
#include "wire/server_session.h"

#include <event2/bufferevent.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "wire/test_frames.h"

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

  // Returns true if a client that makes a call and then leaves has used up its address' part of the
  // loop.
  bool IsOverdrawnAfter(const std::string& method) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::unique_ptr<ServerSession> session;
    std::promise<void> closed;
    RunOnLoop([&] {
      session = std::make_unique<ServerSession>(
          bufferevent_socket_new(loop_.base(), ends[0],
                                 BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS),
          "10.0.0.7", server_, address_, [&](ServerSession*) {
            session = nullptr;
            closed.set_value();
          });
    });
    {
      RawPeer client(ends[1]);
      client.Send(std::string(kPreface) + Encode({FrameType::kSettings}) + CallHead(1, method) +
                  DataFrame(1, "", kEndStream));
      EXPECT_TRUE(client.Read(FrameType::kHeaders).has_value());
    }
    closed.get_future().wait();
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

}  // namespace
}  // namespace gpuscaler
