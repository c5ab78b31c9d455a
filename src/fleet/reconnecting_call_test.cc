#include "fleet/reconnecting_call.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The state of the newest call.
struct CallState {
  std::atomic<bool> cancelled = false;
  std::vector<int> sent;
};

class FakeCall {
 public:
  explicit FakeCall(CallState& state) : state_(state) { state_.cancelled = false; }
  void Cancel() { state_.cancelled = true; }
  void Send(int sent) { state_.sent.push_back(sent); }

 private:
  CallState& state_;
};

class ReconnectingCallTest : public testing::Test {
 protected:
  bool Tick() {
    return calls_->Tick([this] { return std::make_unique<FakeCall>(state_); });
  }
  void End(const absl::Status& why) {
    calls_->Ended(why, [this](const absl::Status& end) { losses_.push_back(end); });
  }
  // Ticks ten times a second.
  absl::Duration UntilItBegins() {
    const absl::Time since = clock_.Now();
    while (!Tick() && clock_.Now() - since < absl::Minutes(2)) {
      clock_.Advance(absl::Milliseconds(100));
    }
    return clock_.Now() - since;
  }

  FakeClock clock_;
  CallState state_;
  std::vector<absl::Status> losses_;
  std::unique_ptr<ReconnectingCall<FakeCall>> calls_ =
      std::make_unique<ReconnectingCall<FakeCall>>(clock_, absl::Seconds(15));
};

TEST_F(ReconnectingCallTest, OneCallIsUnderWayAtATime) {
  EXPECT_FALSE(calls_->under_way().has_value());
  EXPECT_TRUE(Tick());
  EXPECT_FALSE(Tick());
  ASSERT_TRUE(calls_->under_way().has_value());
  EXPECT_EQ(calls_->under_way()->began_at, clock_.Now());
  EXPECT_FALSE(calls_->under_way()->has_received);
  calls_->Received(clock_.Now());
  EXPECT_TRUE(calls_->under_way()->has_received);
  End(absl::UnavailableError("refused"));
  EXPECT_FALSE(calls_->under_way().has_value());
  EXPECT_THAT(losses_, ElementsAre(absl::UnavailableError("refused")));
}

TEST_F(ReconnectingCallTest, NoCallBeginsWithoutASubscription) {
  EXPECT_FALSE(calls_->Tick([] { return std::unique_ptr<FakeCall>(); }));
  EXPECT_FALSE(calls_->under_way().has_value());
  EXPECT_TRUE(Tick());
  End(absl::OkStatus());
}

TEST_F(ReconnectingCallTest, DelayGrowsWithFailures) {
  const absl::Status why = absl::UnavailableError("refused");
  EXPECT_EQ(UntilItBegins(), absl::ZeroDuration());
  for (const int seconds : {1, 2, 4}) {
    End(why);
    const absl::Duration waited = UntilItBegins();
    EXPECT_GE(waited, absl::Seconds(seconds));
    EXPECT_LE(waited, absl::Seconds(1.5 * seconds) + absl::Milliseconds(100));
  }
  calls_->Received(clock_.Now());
  End(why);
  EXPECT_LT(UntilItBegins(), absl::Seconds(2)) << "it was reached in between";
  End(absl::OkStatus());
}

TEST_F(ReconnectingCallTest, InvalidMessageDelaysTheNextCall) {
  Tick();
  calls_->Received(clock_.Now());
  End(absl::InvalidArgumentError("a pod's name that is none"));
  EXPECT_GT(UntilItBegins(), absl::Seconds(6));
  End(absl::OkStatus());
}

TEST_F(ReconnectingCallTest, PauseDelaysTheNextCall) {
  Tick();
  calls_->Ended(absl::UnimplementedError("none here"),
                [this](const absl::Status&) { calls_->Pause(absl::Minutes(1)); });
  EXPECT_EQ(UntilItBegins(), absl::Minutes(1));
  End(absl::OkStatus());
}

TEST_F(ReconnectingCallTest, IdleCallIsCancelledWithThatReason) {
  Tick();
  clock_.Advance(absl::Seconds(10));
  calls_->Received(clock_.Now());
  clock_.Advance(absl::Seconds(15));
  Tick();
  EXPECT_FALSE(state_.cancelled) << "15 s after its last message";
  clock_.Advance(absl::Milliseconds(1));
  Tick();
  EXPECT_TRUE(state_.cancelled);
  EXPECT_THAT(losses_, IsEmpty());
  End(absl::CancelledError(""));
  EXPECT_THAT(losses_, ElementsAre(absl::DeadlineExceededError("no message for 15s")));
}

TEST_F(ReconnectingCallTest, SendReachesTheCallUnderWayOnly) {
  calls_->Send(1);
  Tick();
  calls_->Send(2);
  End(absl::UnavailableError("refused"));
  calls_->Send(3);
  EXPECT_THAT(state_.sent, ElementsAre(2));
}

TEST_F(ReconnectingCallTest, StopEndsTheCallWithoutALossAndForGood) {
  Tick();
  calls_->Stop();
  EXPECT_TRUE(state_.cancelled);
  End(absl::CancelledError(""));
  EXPECT_THAT(losses_, IsEmpty());
  clock_.Advance(absl::Minutes(1));
  EXPECT_FALSE(Tick());
}

TEST_F(ReconnectingCallTest, DestructorWaitsForTheCall) {
  Tick();
  std::atomic<bool> ended = false;
  std::thread call([&, calls = calls_.get()] {
    while (!state_.cancelled) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ended = true;
    calls->Ended(absl::CancelledError(""), [](const absl::Status&) { FAIL() << "it was stopped"; });
  });
  calls_.reset();
  EXPECT_TRUE(ended);
  call.join();
}

TEST(ReconnectDelay, GrowsFromOneSecondToTen) {
  EXPECT_EQ(ReconnectDelay(1, 0), absl::Seconds(1));
  EXPECT_EQ(ReconnectDelay(1, 1), absl::Seconds(1.5));
  EXPECT_EQ(ReconnectDelay(2, 0), absl::Seconds(2));
  EXPECT_EQ(ReconnectDelay(3, 0.5), absl::Seconds(5));
  EXPECT_EQ(ReconnectDelay(1'000'000, 1), absl::Seconds(10));
}

TEST(ReconnectDelay, LongestDelayHasJitter) {
  for (const int failures : {4, 5, 10, 1'000'000}) {
    EXPECT_LT(ReconnectDelay(failures, 0), absl::Seconds(7)) << failures;
    EXPECT_LT(ReconnectDelay(failures, 0.5), ReconnectDelay(failures, 0.75)) << failures;
  }
}

}  // namespace
}  // namespace gpuscaler
