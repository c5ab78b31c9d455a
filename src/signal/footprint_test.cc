// Memory and open files stay constant over 10,000 readings, in the store and in its pollers.
#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/test_seconds.h"
#include "gtest/gtest.h"
#include "page/test_footprint.h"
#include "page/test_http_server.h"
#include "signal/found_engines.h"
#include "signal/signal_store.h"
#include "signal/signal_watch.h"
#include "signal/test_redis.h"

namespace gpuscaler {
namespace {

// A cluster with churn. An engine reports every second. Its pod is replaced every minute, and the
// model in the queries every two minutes. Every second a new namespace leases two sources once.
class EngineChurn {
 public:
  void Run(int seconds) {
    for (const int until = second_ + seconds; second_ < until; ++second_) Tick();
  }
  size_t points() const {
    const SignalHistory observed = store_.HistoryOf(kSource, Query(), Second(second_));
    return observed.series.empty() ? 0 : observed.series.front().points.size();
  }
  size_t sources() { return store_.LeasedSources(Second(second_)).size(); }

 private:
  static inline const SignalSource kSource{.namespace_name = "team-a",
                                           .target = DiscoveredEngines()};

  EngineQuery Query() const {
    return {.metric = EngineMetric::kTimeToFirstTokenMs,
            .model = absl::StrCat("llama-", second_ / 120),
            .window = absl::Seconds(15),
            .look_back = absl::Seconds(30)};
  }
  void Lease(const SignalSource& source, absl::Duration lease) {
    const absl::Time now = Second(second_);
    ASSERT_TRUE(store_.Lease(source, Query(), now, now + lease).ok());
  }
  EngineUpdate NextUpdate() const {
    const double count = second_ % 60;  // a new process counts from 0
    ModelReading reading{.model = absl::StrCat("llama-", second_ / 120),
                         .waiting = count,
                         .running = 1,
                         .generation_tokens = 10 * count};
    reading.first_token_seconds =
        Histogram{.buckets = {{0.1, count}, {std::numeric_limits<double>::infinity(), 2 * count}}};
    return {.at = Second(second_), .engine = "vllm", .reading = EngineReading{{reading}}};
  }
  void Tick() {
    const absl::Time now = Second(second_);
    const int pod = second_ / 60;
    Lease(kSource, absl::Seconds(90));
    const std::string passing = absl::StrCat("passing-", second_);
    Lease({.namespace_name = passing, .target = DiscoveredEngines()}, absl::Seconds(5));
    Lease({.namespace_name = passing, .target = RedisQueue{.address = "redis:6379", .key = "jobs"}},
          absl::Seconds(5));
    const EngineAddress engine_address{.address = absl::StrCat("10.0.", pod % 256, ".1"),
                                       .port = 8000,
                                       .namespace_name = "team-a",
                                       .pod = absl::StrCat("llm-", pod)};
    const std::string node = absl::StrCat("node-", pod);
    found_.SetNodes(found_.Subscription(now), {node}, now);
    found_.SetEngines(
        node, NodeEngines{.namespaces = {{"team-a", {.engines = {engine_address}}}, {passing, {}}}},
        now);
    found_.AddReading(node, engine_address, NextUpdate());
  }

  int second_ = 0;
  SignalStore store_{{.max_gap = kLongestGap}, [] {}};
  FoundEngines found_{store_};
};

TEST(SignalFootprint, MemoryIsConstantUnderChurn) {
  EngineChurn engines;
  engines.Run(2070);
  const size_t memory = AllocatedBytes();
  const size_t points = engines.points();
  const size_t sources = engines.sources();
  EXPECT_GT(points, 10u);
  EXPECT_LT(sources, 15u);
  engines.Run(7680);  // at the same point of each cycle
  EXPECT_EQ(engines.points(), points);
  EXPECT_EQ(engines.sources(), sources);
  EXPECT_LE(AllocatedBytes(), memory + (size_t{32} << 10)) << "4 bytes a reading";
}

// A source of each kind on real sockets, and one of each kind that cannot be read.
class FootprintWatchTest : public testing::Test {
 protected:
  static SignalWatchOptions Options() {
    SignalWatchOptions options{.interval = absl::Milliseconds(4),
                               .queue_interval = absl::Milliseconds(4)};
    options.locator.rules = EndpointRules(*ParseAllowedEndpoints("127.0.0.1"));
    return options;
  }
  std::string UrlOf(const TestHttpServer& server) const {
    return absl::StrCat("http://127.0.0.1:", server.port());
  }
  void LeaseAll() {
    const std::string jobs = absl::StrCat("127.0.0.1:", redis_.port());
    const decltype(SignalSource::target) targets[] = {
        EngineEndpoint{.url = UrlOf(engine_)},
        EngineEndpoint{.url = UrlOf(broken_)},
        MetricsEndpoint{.url = UrlOf(page_), .selector = "served", .rate = true},
        MetricsEndpoint{.url = UrlOf(page_), .selector = "nothing"},
        MetricsEndpoint{.url = "http://127.0.0.1:1", .selector = "queue"},
        RedisQueue{.address = jobs, .length = RedisQueue::Length::kList, .key = "jobs"},
        RedisQueue{.address = "127.0.0.1:1", .key = "jobs"}};
    for (const auto& target : targets) {
      const EngineQuery query{.metric = EngineMetric::kRequestsWaiting,
                              .window = absl::Milliseconds(100),
                              .look_back = absl::Milliseconds(200)};
      const SignalSource source{.namespace_name = "team-a", .target = target};
      const absl::Time now = clock_.Now();
      ASSERT_TRUE(store_.Lease(source, query, now, now + absl::Seconds(90)).ok());
      const SignalHistory observed = store_.HistoryOf(source, query, now);
      EXPECT_LE(observed.series.size(), 1u);
    }
  }
  // Renews the leases meanwhile, as KEDA does.
  void WaitForAttempts(int64_t attempts) {
    const absl::Time deadline = clock_.Now() + absl::Minutes(2);
    while (Attempts() < attempts && clock_.Now() < deadline) {
      LeaseAll();
      absl::SleepFor(absl::Milliseconds(5));
    }
    ASSERT_GE(Attempts(), attempts);
  }
  int64_t Attempts() const {
    int64_t attempts = 0;
    for (const SignalCounts& counts : store_.Counts()) attempts += counts.read + counts.failed;
    return attempts;
  }
  // Memory between two readings: the minimum of 50 samples.
  static size_t MemoryAtRest() {
    size_t least = AllocatedBytes();
    for (int i = 0; i < 50; ++i) {
      absl::SleepFor(absl::Milliseconds(3));
      least = std::min(least, AllocatedBytes());
    }
    return least;
  }

  const SteadyClock clock_;
  std::atomic<int> requests_ = 0;
  TestRedis redis_;
  const TestHttpServer engine_{Serving([this](absl::string_view) {
    // The process and its model change every 100 requests.
    return Answer(absl::StrCat("# TYPE vllm:num_requests_waiting gauge\n",
                               "vllm:num_requests_waiting{model_name=\"llama-",
                               ++requests_ / 100 % 7, "\"} 3\n"));
  })};
  const TestHttpServer page_{Serving([this](absl::string_view) {
    return Answer(
        absl::StrCat("served{pod=\"", requests_ / 100 % 7, "\"} ", requests_.load(), "\n"));
  })};
  const TestHttpServer broken_{
      Serving([](absl::string_view) { return Answer("vllm:num_requests_waiting{"); })};
  SignalStore store_{{.max_gap = absl::Seconds(5)}, [] {}};
  SignalWatch watch_{Options(), clock_, store_};
};

TEST_F(FootprintWatchTest, FilesAndMemoryAreConstantOverTenThousandReadings) {
  WaitForAttempts(2000);
  const int files = OpenFiles();
  const size_t memory = MemoryAtRest();
  WaitForAttempts(12'000);
  EXPECT_LE(OpenFiles(), files + 10) << "one connection for each request in flight";
  EXPECT_LE(MemoryAtRest(), memory + (size_t{160} << 10)) << "16 bytes a reading";
  for (const SignalCounts& counts : store_.Counts()) {
    EXPECT_GT(counts.read, 100);
    EXPECT_GT(counts.failed, 100);
  }
}

}  // namespace
}  // namespace gpuscaler
