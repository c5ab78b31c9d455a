// Two aggregators on one agent and its engines, asked every second: they give the same number.
#include <algorithm>
#include <csignal>
#include <optional>

#include "absl/strings/numbers.h"
#include "engine_pods.h"
#include "gmock/gmock.h"

namespace gpuscaler {
namespace {

class TwoAggregatorsTest : public EnginePodsTest {
 protected:
  std::unique_ptr<Server> StartAggregator() const {
    auto aggregator = std::make_unique<Server>(std::vector<std::string>{
        "--role=aggregator", absl::StrCat("--agents=static:", agent_->Address()), "--grace=12s",
        "--poll-interval=100ms", "--engine-interval=200ms", "--stale-after=12s"});
    EXPECT_TRUE(aggregator->Ready()) << aggregator->process().Story();
    return aggregator;
  }
  // The value, which has three decimals; empty: an error.
  static std::optional<double> ValueOf(const Server& aggregator) {
    const Finished query =
        RunProgram({"query", aggregator.Address(), "--namespace=shop", "--name=llm",
                    "--format=json", "profile=vllm-inference", "maxConcurrency=10", "window=10s"});
    const std::string kKey = "\"value\":";
    const size_t at = query.out.find(kKey);
    double value = 0;
    if (at == std::string::npos) return std::nullopt;
    const size_t from = at + kKey.size();
    const std::string text = query.out.substr(from, query.out.find_first_of(",}", from) - from);
    return absl::SimpleAtod(text, &value) ? std::make_optional(value) : std::nullopt;
  }
  // The mean over the window moves between two requests. So the second aggregator must give, within
  // a second, a number between those that the first gives before and after it: the same number
  // where the first gives one number twice.
  void ExpectAlike(const std::string& when) {
    std::string story;
    EXPECT_TRUE(Eventually(
        [&] {
          const auto before = ValueOf(*server_);
          const auto other = ValueOf(*second_);
          const auto after = ValueOf(*server_);
          absl::StrAppend(&story, before.value_or(-1), " | ", other.value_or(-1), " | ",
                          after.value_or(-1), "\n");
          if (!before || !other || !after) return false;
          if (*before == *after) ++still_;
          return std::min(*before, *after) <= *other && *other <= std::max(*before, *after);
        },
        absl::Seconds(1)))
        << when << "\n"
        << story;
  }
  void ExpectAlikeFor(int seconds, const std::string& when) {
    for (int i = 0; i < seconds; ++i) {
      ExpectAlike(when);
      absl::SleepFor(absl::Seconds(1));
    }
  }
  void RestartSecond() {
    second_->process().Signal(SIGKILL);
    second_->process().Wait();
    second_ = StartAggregator();
    EXPECT_TRUE(Eventually([&] { return ValueOf(*second_).has_value(); }, absl::Seconds(30)));
  }
  void SetPod(int pod, bool ready, bool is_ending) {
    pods_[pod].of_api.ready = ready;
    pods_[pod].of_api.is_ending = is_ending;
    kubelet_.SetPods(pods_);
  }

  std::unique_ptr<Server> agent_;
  std::unique_ptr<Server> second_;
  int still_ = 0;  // comparisons of one number
};

TEST_F(TwoAggregatorsTest, GiveTheSameNumberThroughLoadAStartARolloutAndARestart) {
  AddPod("llm-6d4cf56db6-x7k2p");
  AddPod("llm-6d4cf56db6-q2w4r");
  const auto first_engine = StartEngine(0, 8000);
  const auto second_engine = StartEngine(1, 8000);
  std::vector<std::string> args = NodeFlags();
  args.insert(args.end(), {"--role=agent", "--node-name=gpu-1", "--discover-engines"});
  agent_ = std::make_unique<Server>(args);
  ASSERT_TRUE(agent_->Ready()) << agent_->process().Story();
  server_ = StartAggregator();
  second_ = StartAggregator();
  ASSERT_TRUE(Eventually([&] { return ValueOf(*server_).has_value(); }, absl::Seconds(30)))
      << server_->process().Story();
  ExpectAlikeFor(2, "idle");
  const auto load = StartLoad(0, 8000);
  ExpectAlikeFor(5, "load");
  RestartSecond();
  ExpectAlikeFor(5, "load, after a restart");

  AddPod("llm-6d4cf56db6-z9z9z");
  SetPod(2, /*ready=*/false, /*is_ending=*/false);
  ExpectAlikeFor(3, "a start");
  RestartSecond();
  ExpectAlikeFor(5, "a start, after a restart");
  const auto third_engine = StartEngine(2, 8000);
  SetPod(2, /*ready=*/true, /*is_ending=*/false);
  ExpectAlikeFor(3, "a replica more");

  SetPod(0, /*ready=*/true, /*is_ending=*/true);
  ExpectAlikeFor(3, "a replica ends");
  RestartSecond();
  ExpectAlikeFor(5, "a replica ends, after a restart");
  EXPECT_GT(still_, 10);
}

}  // namespace
}  // namespace gpuscaler
