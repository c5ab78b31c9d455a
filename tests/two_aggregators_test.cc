// Two aggregators on one agent and its engines, polled every second, return the same number: for
// engine pressure and for a known demand. With engineEndpoint each reads the engine itself, and
// their numbers are near each other.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "absl/status/statusor.h"
#include "engine_pods.h"
#include "gmock/gmock.h"
#include "serve/scaler_client.h"

namespace gpuscaler {
namespace {

class TwoAggregatorsTest : public EnginePodsTest {
 protected:
  void StartAgent() {
    std::vector<std::string> args = NodeFlags();
    args.insert(args.end(), {"--role=agent", "--node-name=gpu-1",
                             absl::StrCat("--discover-engines=", discovery_),
                             absl::StrCat("--engine-interval=", engine_interval_)});
    agent_ = std::make_unique<Server>(args);
    ASSERT_TRUE(agent_->Ready()) << agent_->process().Diagnostics();
  }
  std::unique_ptr<Server> StartAggregator() const {
    auto aggregator = std::make_unique<Server>(std::vector<std::string>{
        "--role=aggregator", absl::StrCat("--agents=static:", agent_->Address()), "--grace=12s",
        "--poll-interval=100ms", absl::StrCat("--engine-interval=", engine_interval_),
        "--stale-after=12s", absl::StrCat("--allow-endpoints=", networks_[0]->address())});
    EXPECT_TRUE(aggregator->Ready()) << aggregator->process().Diagnostics();
    return aggregator;
  }
  absl::StatusOr<double> AnswerOf(const Server& aggregator) const {
    TriggerRef trigger{.name = "llm", .namespace_name = "shop"};
    for (const std::string& pair : metadata_) {
      const size_t at = pair.find('=');
      trigger.metadata[pair.substr(0, at)] = pair.substr(at + 1);
    }
    const auto client =
        ScalerClient::Open({.address = aggregator.Address(), .deadline = absl::Seconds(30)});
    EXPECT_TRUE(client.ok()) << client.status();
    return (*client)->GetMetrics(trigger, "keda_gpu_metric");
  }
  // Returns the value to three decimals, or nothing on error.
  std::optional<double> ValueOf(const Server& aggregator) const {
    const auto value = AnswerOf(aggregator);
    if (!value.ok()) return std::nullopt;
    return std::round(*value * 1000) / 1000;
  }
  // Returns true if the second aggregator's number is between the first one's before and after it.
  // So it is the same number if the first one returns one number twice.
  bool IsAlike(std::string* story) {
    const auto before = ValueOf(*server_);
    const auto other = ValueOf(*second_);
    const auto after = ValueOf(*server_);
    absl::StrAppend(story, before.value_or(-1), " | ", other.value_or(-1), " | ",
                    after.value_or(-1), "\n");
    if (!before || !other || !after) {
      ++without_value_;
      return false;
    }
    if (*before == *after) ++still_;
    return std::min(*before, *after) <= *other && *other <= std::max(*before, *after);
  }
  // The number moves between two requests. So one comparison of a second must hold, or of fifteen
  // where they take longer: an idle machine compares ten times a second.
  void ExpectAlike(const std::string& when) {
    constexpr int kFewest = 15;
    const absl::Time deadline = absl::Now() + absl::Seconds(1);
    std::string story;
    bool is_alike = IsAlike(&story);
    for (int i = 1; !is_alike && (i < kFewest || absl::Now() < deadline); ++i) {
      is_alike = IsAlike(&story);
    }
    EXPECT_TRUE(is_alike) << when << "\n" << story;
  }
  void ExpectAlikeFor(int seconds, const std::string& when) {
    for (int i = 0; i < seconds; ++i) {
      ExpectAlike(when);
      absl::SleepFor(absl::Seconds(1));
    }
  }
  void RestartSecondWithoutWaiting() {
    second_->process().Signal(SIGKILL);
    second_->process().Wait();
    second_ = StartAggregator();
  }
  void RestartSecond() {
    RestartSecondWithoutWaiting();
    EXPECT_TRUE(Eventually([&] { return ValueOf(*second_).has_value(); }, absl::Seconds(30)));
  }
  void SetPod(int pod, bool ready, bool is_terminating) {
    pods_[pod].of_api.ready = ready;
    pods_[pod].of_api.is_terminating = is_terminating;
    kubelet_.SetPods(pods_);
  }

  std::vector<std::string> metadata_ = {"profile=vllm-inference", "maxConcurrency=10",
                                        "window=10s"};
  std::string engine_interval_ = "200ms";
  std::string discovery_ = "true";
  std::unique_ptr<Server> agent_;
  std::unique_ptr<Server> second_;
  int still_ = 0;          // comparisons of one number
  int without_value_ = 0;  // comparisons that lacked a number
};

TEST_F(TwoAggregatorsTest, GiveTheSameNumberThroughLoadAStartARolloutAndARestart) {
  AddPod("llm-6d4cf56db6-x7k2p");
  AddPod("llm-6d4cf56db6-q2w4r");
  const auto first_engine = StartEngine(0, 8000);
  const auto second_engine = StartEngine(1, 8000);
  ASSERT_NO_FATAL_FAILURE(StartAgent());
  server_ = StartAggregator();
  second_ = StartAggregator();
  ASSERT_TRUE(Eventually([&] { return ValueOf(*server_).has_value(); }, absl::Seconds(30)))
      << server_->process().Diagnostics();
  ExpectAlikeFor(2, "idle");
  const auto load = StartLoad(0, 8000);
  ExpectAlikeFor(5, "load");
  RestartSecond();
  ExpectAlikeFor(5, "load, after a restart");

  AddPod("llm-6d4cf56db6-z9z9z");
  SetPod(2, /*ready=*/false, /*is_terminating=*/false);
  ExpectAlikeFor(3, "a start");
  RestartSecond();
  ExpectAlikeFor(5, "a start, after a restart");
  const auto third_engine = StartEngine(2, 8000);
  SetPod(2, /*ready=*/true, /*is_terminating=*/false);
  ExpectAlikeFor(3, "a replica more");

  SetPod(0, /*ready=*/true, /*is_terminating=*/true);
  ExpectAlikeFor(3, "a replica ends");
  RestartSecond();
  ExpectAlikeFor(5, "a replica ends, after a restart");
  EXPECT_GT(still_, 10);
}

// demand_replicas has no value unless the demand is known.
class TwoAggregatorsDemandTest : public TwoAggregatorsTest {
 protected:
  TwoAggregatorsDemandTest() {
    metadata_ = {"metricType=demand_replicas", "maxConcurrency=40", "tpotSloMs=18"};
    // The demand changes with each reading, and a comparison takes three requests in between.
    engine_interval_ = "1s";
  }

  // Starts an engine and a load that keeps two requests or more in its batch: smaller batches do
  // not count towards the capacity.
  void AddBusyPod(const std::string& name, int requests_per_second) {
    AddPod(name);
    const int pod = static_cast<int>(pods_.size()) - 1;
    SetPod(pod, /*ready=*/false, /*is_terminating=*/false);
    engines_.push_back(StartEngine(
        pod, 8000,
        {"--max-num-seqs=40", "--tokens-per-second=100", "--full-batch-tokens-per-second=50"}));
    loads_.push_back(std::make_unique<Process>(std::vector<std::string>{
        "load", absl::StrCat("--target=http://", networks_[pod]->address(), ":8000"),
        absl::StrCat("--rate=", requests_per_second), "--poisson", absl::StrCat("--seed=", pod + 1),
        "--duration=10m", "--max-tokens=100"}));
    SetPod(pod, /*ready=*/true, /*is_terminating=*/false);
  }
  // An engine without an answer at its first reading counts as cold for a minute.
  void WaitForAnswers() const {
    for (const auto& load : loads_) EXPECT_TRUE(load->WaitForErr(" p50 ")) << load->Diagnostics();
  }

  std::vector<std::unique_ptr<Process>> engines_;
  std::vector<std::unique_ptr<Process>> loads_;
};

TEST_F(TwoAggregatorsDemandTest, GiveTheSameKnownDemandThroughLoadARolloutAndRestarts) {
  AddBusyPod("llm-6d4cf56db6-x7k2p", 6);
  AddBusyPod("llm-6d4cf56db6-q2w4r", 8);
  AddBusyPod("llm-6d4cf56db6-m3n5t", 10);
  WaitForAnswers();
  ASSERT_NO_FATAL_FAILURE(StartAgent());
  server_ = StartAggregator();
  second_ = StartAggregator();
  ASSERT_TRUE(
      Eventually([&] { return ValueOf(*server_).has_value() && ValueOf(*second_).has_value(); },
                 absl::Minutes(1)))
      << Query(metadata_);
  ExpectAlikeFor(3, "load");
  RestartSecond();
  ExpectAlikeFor(3, "load, after a restart");

  AddBusyPod("llm-6d4cf56db6-z9z9z", 8);
  ExpectAlikeFor(3, "a replica more");
  RestartSecond();
  ExpectAlikeFor(3, "a replica more, after a restart");

  SetPod(0, /*ready=*/true, /*is_terminating=*/true);
  ExpectAlikeFor(3, "a replica ends");
  RestartSecond();
  ExpectAlikeFor(3, "a replica ends, after a restart");
  // Comparisons of one number are rarer while queries are slow.
  EXPECT_TRUE(Eventually(
      [&] {
        ExpectAlike("a replica ends, after a restart");
        return still_ > 10;
      },
      absl::Minutes(2)))
      << still_;
  EXPECT_EQ(without_value_, 0) << "the demand must stay known";
}

// No agent finds the engine or keeps records of it.
class TwoAggregatorsEndpointTest : public TwoAggregatorsDemandTest {
 protected:
  static constexpr double kTarget = 80;
  // A demand needs a minute of service, in readings of a second. On a busy machine they are fewer.
  static constexpr double kMaxReadings = 120;

  TwoAggregatorsEndpointTest() { discovery_ = "false"; }

  void StartAll() {
    metadata_.push_back(absl::StrCat("engineEndpoint=http://", networks_[0]->address(), ":8000"));
    ASSERT_NO_FATAL_FAILURE(StartAgent());
    server_ = StartAggregator();
    second_ = StartAggregator();
  }
  // Returns the first series of the metrics page that begins so, or -1.
  static double SeriesOf(const Server& server, const std::string& begin) {
    const auto page = Request(server.Port("metrics"), "GET", "/metrics");
    if (!page.ok()) return -1;
    const size_t line = page->body.find(absl::StrCat("\nkeda_gpu_scaler_", begin));
    if (line == std::string::npos) return -1;
    return std::atof(page->body.c_str() + page->body.find(' ', line));
  }
  static bool HasKnownDemand(const Server& server) {
    return SeriesOf(server, "demand_known{") == 1;
  }
  static double ReadingsOf(const Server& server) {
    return SeriesOf(server, "signal_readings_total{kind=\"engine\",outcome=\"read\"} ");
  }
  // Compares both numbers until `is_over` or the second aggregator has read the engine too often.
  // Until then each answer of the second is an error that keeps the replicas, or a number of one
  // replica that is at most one target from the first's. Returns false if it never was over.
  template <typename Condition>
  bool StaysNearUntil(const Condition& is_over) {
    const absl::Time hang = absl::Now() + absl::Minutes(3);
    for (; ReadingsOf(*second_) < kMaxReadings && absl::Now() < hang;
         absl::SleepFor(absl::Milliseconds(100))) {
      const auto first = AnswerOf(*server_);
      const auto second = AnswerOf(*second_);
      EXPECT_TRUE(first.ok()) << first.status();
      EXPECT_TRUE(second.ok() || absl::IsUnavailable(second.status())) << second.status();
      if (!first.ok() || !second.ok()) continue;
      EXPECT_GT(*second, 0);
      EXPECT_LE(*second, 2 * kTarget);
      EXPECT_LE(std::abs(*second - *first), kTarget) << *first << " and " << *second;
      if (is_over(*first, *second)) return true;
    }
    return false;
  }
};

TEST_F(TwoAggregatorsEndpointTest, GiveTheSamePressureAlsoAfterARestart) {
  metadata_ = {"profile=vllm-inference", "maxConcurrency=10", "window=10s"};
  engine_interval_ = "200ms";
  AddPod("llm-6d4cf56db6-x7k2p");
  const auto engine = StartEngine(0, 8000);
  const auto load = StartLoad(0, 8000);
  ASSERT_NO_FATAL_FAILURE(StartAll());
  constexpr double kHalfFull = 50;  // 5 requests of 10
  ASSERT_TRUE(
      Eventually([&] { return ValueOf(*server_) == kHalfFull && ValueOf(*second_) == kHalfFull; },
                 absl::Minutes(1)))
      << Query(metadata_);
  RestartSecondWithoutWaiting();
  EXPECT_TRUE(StaysNearUntil([&](double first, double second) {
    EXPECT_NEAR(first, kHalfFull, 1e-3);
    return std::abs(second - first) < 1e-3;
  })) << Query(metadata_);
}

// An aggregator that restarts begins anew: the pressure counts until it knows the demand again.
TEST_F(TwoAggregatorsEndpointTest, GiveNumbersNearEachOtherUntilTheDemandIsKnownAgain) {
  metadata_ = {"profile=vllm-inference", "maxConcurrency=40", "tpotSloMs=18", "window=10s"};
  AddBusyPod("llm-6d4cf56db6-x7k2p", 10);
  WaitForAnswers();
  ASSERT_NO_FATAL_FAILURE(StartAll());
  const auto are_alike = [&](double first, double second) {
    return HasKnownDemand(*server_) && HasKnownDemand(*second_) &&
           std::abs(second - first) <= kTarget / 4;
  };
  ASSERT_TRUE(Eventually(
      [&] {
        const auto first = ValueOf(*server_);
        const auto second = ValueOf(*second_);
        return first && second && are_alike(*first, *second);
      },
      absl::Minutes(2)))
      << Query(metadata_);
  RestartSecondWithoutWaiting();
  EXPECT_TRUE(StaysNearUntil(are_alike)) << Query(metadata_);
}

}  // namespace
}  // namespace gpuscaler
