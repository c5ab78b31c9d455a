#include "simulate/load_run.h"

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kServiceTime = absl::Milliseconds(2);

// A server that takes 2 ms per request, any number at once, but answers nothing in [stalls_from,
// stalls_until). Wait() advances the clock.
class StallingServer : public Sender {
 public:
  explicit StallingServer(FakeClock& clock) : clock_(clock), started_at_(clock.Now()) {}

  void Stall(absl::Duration from, absl::Duration until) {
    stalls_from_ = started_at_ + from;
    stalls_until_ = started_at_ + until;
  }
  void FailAll(const std::string& error) { error_ = error; }

  void Send(int64_t id) override {
    absl::Time done = clock_.Now() + kServiceTime;
    if (stalls_from_ <= done && done < stalls_until_) done = stalls_until_;
    in_flight_.emplace(done, id);
    most_ = std::max(most_, in_flight_.size());
  }

  std::vector<Answered> Wait(absl::Duration timeout) override {
    const absl::Time until = clock_.Now() + timeout;
    const bool any = !in_flight_.empty() && in_flight_.begin()->first <= until;
    const absl::Time now = any ? std::max(in_flight_.begin()->first, clock_.Now()) : until;
    clock_.Advance(now - clock_.Now());
    std::vector<Answered> answers;
    while (!in_flight_.empty() && in_flight_.begin()->first <= now) {
      answers.push_back({.id = in_flight_.begin()->second, .error = error_});
      in_flight_.erase(in_flight_.begin());
    }
    return answers;
  }

  size_t most() const { return most_; }

 private:
  FakeClock& clock_;
  const absl::Time started_at_;
  absl::Time stalls_from_ = absl::InfiniteFuture();
  absl::Time stalls_until_ = absl::InfiniteFuture();
  std::string error_;
  std::multimap<absl::Time, int64_t> in_flight_;
  size_t most_ = 0;
};

class LoadRunTest : public testing::Test {
 protected:
  LoadTally Run(const LoadLimits& limits, double rate, absl::Duration duration) {
    LoadRun run(limits, Arrivals(RateCurve::Constant(rate), duration, Spacing::kEven, 1), server_,
                clock_);
    return run.Run([] { return true; });
  }

  FakeClock clock_;
  StallingServer server_{clock_};
};

TEST_F(LoadRunTest, SendsEachRequestAtItsTime) {
  const LoadTally tally = Run({}, 100, absl::Seconds(3));
  EXPECT_EQ(tally.due, 300);
  EXPECT_EQ(tally.sent, 300);
  EXPECT_EQ(tally.answered, 300);
  EXPECT_EQ(tally.late, 0);
  EXPECT_EQ(ErrorsOf(tally), 0);
  EXPECT_LE(tally.latency.max(), kServiceTime + absl::Milliseconds(1));
}

// A closed loop would show one slow request of 1 s and 199 of 2 ms.
TEST_F(LoadRunTest, AStallDelaysEveryRequestDueInIt) {
  server_.Stall(absl::Seconds(1), absl::Seconds(2));
  const LoadTally tally = Run({}, 100, absl::Seconds(3));
  EXPECT_EQ(tally.sent, 300);
  EXPECT_EQ(tally.late, 0) << "they were sent while the server hung";
  EXPECT_LT(tally.latency.Percentile(0.5), absl::Milliseconds(10));
  const absl::Duration p95 =
      tally.latency.Percentile(0.95);  // the 85th of 100 evenly spaced latencies from 0 to 1 s
  EXPECT_NEAR(absl::ToDoubleSeconds(p95), 0.85, 0.02);
  EXPECT_NEAR(absl::ToDoubleSeconds(tally.latency.max()), 1, 0.02);
}

TEST_F(LoadRunTest, AStallHasTheSameEffectAtConcurrencyOne) {
  server_.Stall(absl::Seconds(1), absl::Seconds(2));
  const LoadTally tally = Run({.concurrency = 1}, 100, absl::Seconds(3));
  EXPECT_EQ(server_.most(), 1U);
  EXPECT_EQ(tally.answered, 300);
  EXPECT_GT(tally.late, 90) << "that they waited here is reported, and counts";
  EXPECT_GT(tally.latency.Percentile(0.95), absl::Milliseconds(800));
}

TEST_F(LoadRunTest, RequestsThatCannotBeSentInTimeAreCounted) {
  server_.Stall(absl::Seconds(0), absl::Seconds(10));
  const LoadTally tally =
      Run({.concurrency = 5, .timeout = absl::Seconds(1)}, 10, absl::Seconds(5));
  EXPECT_EQ(tally.due, 50);
  EXPECT_EQ(tally.sent, 5);
  EXPECT_EQ(tally.not_sent, 45);
  EXPECT_EQ(ErrorsOf(tally), 45);
  EXPECT_EQ(tally.waiting, 0);
}

TEST_F(LoadRunTest, FailuresAreCountedByKindWithoutLatency) {
  server_.FailAll("HTTP 503");
  const LoadTally tally = Run({}, 10, absl::Seconds(1));
  EXPECT_EQ(tally.answered, 0);
  EXPECT_THAT(tally.errors, testing::ElementsAre(testing::Pair("HTTP 503", 10)));
  EXPECT_EQ(tally.latency.count(), 0);
}

TEST_F(LoadRunTest, StopCountsRequestsCutOff) {
  server_.Stall(absl::Seconds(1), absl::Hours(1));
  LoadRun run({}, Arrivals(RateCurve::Constant(10), absl::Hours(1), Spacing::kEven, 1), server_,
              clock_);
  const LoadTally tally = run.Run([&] { return run.passed() < absl::Seconds(2); });
  EXPECT_EQ(tally.answered, 10);
  EXPECT_GE(tally.cut_off, 9);
  EXPECT_EQ(tally.sent, tally.answered + tally.cut_off);
  EXPECT_EQ(ErrorsOf(tally), 0);
  EXPECT_NEAR(absl::ToDoubleSeconds(tally.sending), 2, 0.06);
}

TEST_F(LoadRunTest, AnswersOfAStoppedRunAreIgnored) {
  server_.Stall(absl::Seconds(0), absl::Seconds(3));
  LoadRun stopped({}, Arrivals(RateCurve::Constant(10), absl::Hours(1), Spacing::kEven, 1), server_,
                  clock_);
  stopped.Run([&] { return stopped.passed() < absl::Seconds(2); });
  ASSERT_GE(stopped.tally().cut_off, 19) << "they are answered a second later";
  server_.Stall(absl::Seconds(0), absl::Seconds(10));
  LoadRun next({}, Arrivals(RateCurve::Constant(10), absl::Seconds(1), Spacing::kEven, 1), server_,
               clock_, stopped.tally().sent);
  const LoadTally& tally = next.Run([] { return true; });
  EXPECT_EQ(tally.answered, 10);
  EXPECT_GT(tally.latency.Percentile(0.1), absl::Seconds(6));
}

}  // namespace
}  // namespace gpuscaler
