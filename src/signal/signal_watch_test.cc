#include "signal/signal_watch.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"
#include "signal/test_redis.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr char kVllmPage[] =
    "# TYPE vllm:num_requests_waiting gauge\n"
    "vllm:num_requests_waiting{model_name=\"llama\"} 3\n"
    "# TYPE vllm:num_requests_running gauge\n"
    "vllm:num_requests_running{model_name=\"llama\"} 40\n";

// A store with a running watch; every namespace may use loopback.
class SignalWatchTest : public testing::Test {
 protected:
  SignalSource SourceOf(decltype(SignalSource::target) target) const {
    return {.namespace_name = "team-a", .target = std::move(target)};
  }
  void Lease(const SignalSource& source, EngineMetric metric = EngineMetric::kRequestsWaiting) {
    const EngineQuery query{.metric = metric, .look_back = absl::Seconds(30)};
    ASSERT_TRUE(store_.Lease(source, query, clock_.Now(), clock_.Now() + absl::Minutes(5)).ok());
  }
  SignalHistory HistoryOf(const SignalSource& source,
                          EngineMetric metric = EngineMetric::kRequestsWaiting) const {
    return store_.HistoryOf(source, {.metric = metric, .look_back = absl::Seconds(30)},
                            clock_.Now());
  }

  // The number is the newest of the first series. Empty: there is none within 10 s.
  std::optional<double> WaitForNumber(const SignalSource& source) const {
    std::optional<double> number;
    Eventually([&] {
      const SignalHistory history = HistoryOf(source);
      if (history.series.empty() || history.series.front().points.empty()) return false;
      number = history.series.front().points.back().value;
      return number.has_value();
    });
    return number;
  }
  // Empty: the source has no error within 10 s.
  std::string WaitForFault(const SignalSource& source) const {
    std::string fault;
    Eventually([&] {
      const SignalHistory history = HistoryOf(source);
      fault = std::string(history.status.message());
      if (history.status.ok() && !history.series.empty()) fault = history.series.front().error;
      return !fault.empty() && !absl::StrContains(fault, "not read yet") &&
             !absl::StrContains(fault, "not looked for yet") &&
             !absl::StrContains(fault, "not resolved");
    });
    return fault;
  }
  static void Eventually(const std::function<bool()>& condition) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    while (!condition() && real.Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
  }

  static SignalWatchOptions Options() {
    SignalWatchOptions options{.interval = absl::Milliseconds(100)};
    options.locator.rules = EndpointRules(*ParseAllowedEndpoints("127.0.0.1"));
    return options;
  }

  const SteadyClock clock_;
  SignalStore store_{{.max_gap = absl::Seconds(5)}, [] {}};
  SignalWatch watch_{Options(), clock_, store_};
  // The store of a watch that the test creates.
  SignalStore idle_store_{{.max_gap = absl::Seconds(5)}, [] {}};
};

TEST_F(SignalWatchTest, EnginesAtANameAreReadWhileLeased) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer(kVllmPage); }));
  const SignalSource source =
      SourceOf(EngineEndpoint{.url = absl::StrCat("http://127.0.0.1:", server.port())});
  EXPECT_EQ(HistoryOf(source).status.code(), absl::StatusCode::kUnavailable);
  Lease(source);
  EXPECT_EQ(WaitForNumber(source), 3);
  const SignalHistory history = HistoryOf(source);
  ASSERT_THAT(history.series, SizeIs(1));
  EXPECT_EQ(history.series.front().address, "127.0.0.1");
  EXPECT_EQ(history.series.front().name, absl::StrCat("vllm at 127.0.0.1:", server.port()));
  EXPECT_EQ(server.connections(), 1) << "kept, and for all polls";
}

TEST_F(SignalWatchTest, APageIsReadOnceForAllItsMetrics) {
  std::atomic<int> requests = 0;
  const TestHttpServer server(Serving([&](absl::string_view) {
    const int count = ++requests;
    return Answer(absl::StrCat("queue_size{pool=\"a\"} 4\nqueue_size{pool=\"b\"} 5\nserved ",
                               100 * count, "\n"));
  }));
  const std::string url = absl::StrCat("http://127.0.0.1:", server.port());
  const SignalSource all = SourceOf(MetricsEndpoint{.url = url, .selector = "queue_size"});
  const SignalSource one =
      SourceOf(MetricsEndpoint{.url = url, .selector = "queue_size{pool=\"b\"}"});
  const SignalSource rate =
      SourceOf(MetricsEndpoint{.url = url, .selector = "served", .rate = true});
  for (const SignalSource& source : {all, one, rate}) Lease(source);
  EXPECT_EQ(WaitForNumber(all), 9);
  EXPECT_EQ(WaitForNumber(one), 5);
  const std::optional<double> growth = WaitForNumber(rate);
  ASSERT_TRUE(growth.has_value());
  EXPECT_GT(*growth, 0);
  // Three requests per point would mean one for each selector.
  Eventually([&] { return HistoryOf(all).series.front().points.size() >= 10; });
  const size_t points = HistoryOf(all).series.front().points.size();
  EXPECT_GE(points, 10u);
  EXPECT_LE(static_cast<size_t>(requests.load()), points + 3) << "one page for all three";
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(SignalWatchTest, QueuesInRedisAreRead) {
  TestRedis redis;
  redis.Do({"RPUSH", "jobs", "a", "b", "c"});
  const SignalSource source =
      SourceOf(RedisQueue{.address = absl::StrCat("127.0.0.1:", redis.port()),
                          .length = RedisQueue::Length::kList,
                          .key = "jobs"});
  Lease(source);
  EXPECT_EQ(WaitForNumber(source), 3);
}

TEST_F(SignalWatchTest, AnUnreadableSourceHasAReason) {
  const SignalSource refused =
      SourceOf(MetricsEndpoint{.url = "http://127.0.0.1:1", .selector = "a"});
  Lease(refused);
  EXPECT_THAT(WaitForFault(refused), HasSubstr("refused"));
  EXPECT_FALSE(HistoryOf(refused).is_awaited) << "the caller gets the reason at once";
  const SignalSource forbidden = SourceOf(EngineEndpoint{.url = "http://llm.team-b.svc:8000"});
  Lease(forbidden);
  EXPECT_THAT(WaitForFault(forbidden), HasSubstr("not of namespace team-a"));
  EXPECT_EQ(HistoryOf(forbidden).status.code(), absl::StatusCode::kPermissionDenied);
  SignalSource alias = SourceOf(EngineEndpoint{.url = "http://127.0.0.1:1"});
  alias.credentials.alias = "prod";
  Lease(alias);
  EXPECT_THAT(WaitForFault(alias), HasSubstr("--endpoint-credentials"));
}

TEST_F(SignalWatchTest, ANameWithoutAddressesHasNoEngineAndNoPage) {
  SignalWatchOptions options = Options();
  options.locator.dns.resolver = [](const std::string& name) {
    return ResolvedName{.canonical_name = name};
  };
  const SignalWatch watch(options, clock_, idle_store_);
  const SignalSource engines = SourceOf(EngineEndpoint{.url = "http://llm:8000"});
  const SignalSource page = SourceOf(MetricsEndpoint{.url = "http://gateway", .selector = "a"});
  for (const SignalSource& source : {engines, page}) {
    ASSERT_TRUE(idle_store_.Lease(source, {}, clock_.Now(), clock_.Now() + absl::Hours(1)).ok());
  }
  Eventually([&] { return idle_store_.HistoryOf(engines, {}, clock_.Now()).status.ok(); });
  const SignalHistory none = idle_store_.HistoryOf(engines, {}, clock_.Now());
  EXPECT_TRUE(none.status.ok()) << none.status;
  EXPECT_THAT(none.series, SizeIs(0));
  const auto gap = [&] {
    return idle_store_.HistoryOf(page, {}, clock_.Now()).series.front().error;
  };
  Eventually([&] { return absl::StrContains(gap(), "has no address"); });
  EXPECT_THAT(gap(), HasSubstr("has no address"));
}

// The kubelets' clusterDomain need not be cluster.local.
TEST_F(SignalWatchTest, ServicesAreResolvedInTheClusterDomain) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("queue 3\n"); }));
  SignalWatchOptions options = Options();
  options.locator.rules = EndpointRules(*ParseAllowedEndpoints("127.0.0.1"), "corp.internal");
  options.locator.dns.resolver = [](const std::string& name) {
    const bool is_own = name == "llm.team-a.svc.corp.internal.";
    return ResolvedName{
        .addresses = is_own ? std::vector<std::string>{"127.0.0.1"} : std::vector<std::string>(),
        .canonical_name = name};
  };
  const SignalWatch watch(options, clock_, idle_store_);
  const auto subscribed_at = [&](const std::string& host) {
    SignalSource source = SourceOf(MetricsEndpoint{
        .url = absl::StrCat("http://", host, ":", server.port()), .selector = "queue"});
    EXPECT_TRUE(idle_store_.Lease(source, {}, clock_.Now(), clock_.Now() + absl::Hours(1)).ok());
    return source;
  };
  const SignalSource own = subscribed_at("llm.team-a.svc.corp.internal");
  const SignalSource elsewhere = subscribed_at("llm.team-a.svc.cluster.local");
  const auto observed = [&](const SignalSource& source) {
    const SignalHistory history = idle_store_.HistoryOf(source, {}, clock_.Now());
    return history.series.empty() ? SignalSeries() : history.series.front();
  };
  Eventually([&] { return !observed(own).points.empty() && !observed(elsewhere).error.empty(); });
  ASSERT_FALSE(observed(own).points.empty()) << observed(own).error;
  EXPECT_EQ(observed(own).points.back().value, 3);
  Eventually([&] { return absl::StrContains(observed(elsewhere).error, "namespace team-a"); });
  EXPECT_THAT(observed(elsewhere).error, HasSubstr("is not of namespace team-a"));
}

// Two replicas of a gateway behind one name, each with a part of the queue.
class GatewaysTest : public SignalWatchTest {
 protected:
  GatewaysTest() {
    SignalWatchOptions options = Options();
    options.locator.rules = EndpointRules(*ParseAllowedEndpoints("127.0.0.1,127.0.0.2"));
    options.locator.dns.interval = absl::Milliseconds(50);
    options.locator.dns.resolver = [this](const std::string& name) {
      MutexLock lock(mutex_);
      return ResolvedName{.addresses = addresses_, .canonical_name = name};
    };
    watch_of_name_ = std::make_unique<SignalWatch>(options, clock_, idle_store_);
  }
  SignalSource Subscription(const std::string& selector, bool rate = false) {
    SignalSource source = SourceOf(MetricsEndpoint{
        .url = absl::StrCat("http://gateway:", first_.port()), .selector = selector, .rate = rate});
    const EngineQuery query = QueryOver(absl::Seconds(1));
    EXPECT_TRUE(idle_store_.Lease(source, query, clock_.Now(), clock_.Now() + absl::Hours(1)).ok());
    return source;
  }
  static EngineQuery QueryOver(absl::Duration window) {
    return {.window = window, .look_back = absl::Seconds(30)};
  }
  SignalSeries Observed(const SignalSource& source) const {
    const SignalHistory history =
        idle_store_.HistoryOf(source, QueryOver(absl::Seconds(1)), clock_.Now());
    return history.series.empty() ? SignalSeries() : history.series.front();
  }
  // Returns the newest sum, if there is one.
  std::optional<double> Newest(const SignalSource& source) const {
    const SignalSeries observed = Observed(source);
    return observed.points.empty() ? std::nullopt : observed.points.back().value;
  }
  void Resolve(std::vector<std::string> addresses) {
    MutexLock lock(mutex_);
    addresses_ = std::move(addresses);
  }

  std::atomic<int> held_ = 5;
  std::atomic<int> served_ = 0;
  Mutex mutex_;
  std::vector<std::string> addresses_ ABSL_GUARDED_BY(mutex_) = {"127.0.0.1", "127.0.0.2"};
  TestHttpServer first_{Serving([this](absl::string_view) {
    return Answer(absl::StrCat("queue_size 7\nserved ", served_ += 10, "\n"));
  })};
  std::unique_ptr<TestHttpServer> second_ = StartSecond();
  std::unique_ptr<SignalWatch> watch_of_name_;

  std::unique_ptr<TestHttpServer> StartSecond() {
    return std::make_unique<TestHttpServer>(
        Serving([this](absl::string_view) {
          return Answer(
              absl::StrCat("queue_size ", held_.load(), "\nserved ", served_ += 10, "\n"));
        }),
        nullptr, "127.0.0.2", "", first_.port());
  }
};

TEST_F(GatewaysTest, ReplicasOfAGatewayAreSummed) {
  const SignalSource queue = Subscription("queue_size");
  Eventually([&] { return Newest(queue) == 12; });
  EXPECT_EQ(Newest(queue), 12);
  held_ = 100;
  Eventually([&] { return Newest(queue) == 107; });
  const SignalSeries observed = Observed(queue);
  EXPECT_EQ(observed.points.back().value, 107);
  ASSERT_THAT(observed.parts, SizeIs(2));
  EXPECT_EQ(observed.parts[0].address, "127.0.0.1");
  EXPECT_EQ(observed.parts[0].value, 7);
  EXPECT_EQ(observed.parts[1].address, "127.0.0.2");
  EXPECT_EQ(observed.parts[1].value, 100);
  for (const SignalPoint& point : observed.points)
    EXPECT_GE(point.value, 12) << "never a part alone";
}

TEST_F(GatewaysTest, AFailingReplicaMakesTheSumUnknownUntilDnsDropsIt) {
  const SignalSource queue = Subscription("queue_size");
  Eventually([&] { return Newest(queue) == 12; });
  second_.reset();
  Eventually([&] { return !Observed(queue).error.empty(); });
  EXPECT_THAT(Observed(queue).error, HasSubstr("127.0.0.2"));
  const absl::Time silent = Observed(queue).points.back().at;
  EXPECT_EQ(Newest(queue), 12) << "what was read before stands, and grows old";
  Resolve({"127.0.0.1"});
  Eventually([&] { return Newest(queue) == 7; });
  EXPECT_EQ(Newest(queue), 7);
  EXPECT_GT(Observed(queue).points.back().at, silent);
  EXPECT_EQ(Observed(queue).error, "");
}

TEST_F(GatewaysTest, RatesOfReplicasAreSummed) {
  const SignalSource served = Subscription("served", true);
  Eventually([&] { return Newest(served).value_or(0) > 0; });
  const SignalSeries observed = Observed(served);
  EXPECT_GT(Newest(served).value_or(0), 0);
  ASSERT_THAT(observed.parts, SizeIs(2));
}

TEST_F(GatewaysTest, OnlyResolvedReplicasAreRead) {
  Resolve({"127.0.0.1"});
  const SignalSource queue = Subscription("queue_size");
  Eventually([&] { return Newest(queue) == 7; });
  EXPECT_EQ(Newest(queue), 7);
  EXPECT_EQ(second_->connections(), 0);
}

TEST(LocatedSource, RequestHasTheClientCertificate) {
  const LocatedSource located{
      .credentials = {.bearer_token = "token",
                      .identity = {.ca = "ca", .cert = "cert", .key = "key"}}};
  const ScrapeRequest request = located.RequestTo({});
  EXPECT_EQ(request.bearer_token, "token");
  EXPECT_EQ(request.server.identity.ca, "ca");
  EXPECT_EQ(request.server.identity.cert, "cert");
  EXPECT_EQ(request.server.identity.key, "key");
}

TEST_F(SignalWatchTest, ANewSourceIsReadAtOnce) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("a 7\n"); }));
  const SignalSource source = SourceOf(
      MetricsEndpoint{.url = absl::StrCat("http://127.0.0.1:", server.port()), .selector = "a"});
  SignalWatch* woken = nullptr;
  SignalStore store({.max_gap = absl::Minutes(30)}, [&] { woken->Wake(); });
  SignalWatchOptions options = Options();
  options.interval = absl::Minutes(10);
  SignalWatch watch(options, clock_, store);
  woken = &watch;
  ASSERT_TRUE(store.Lease(source, {}, clock_.Now(), clock_.Now() + absl::Hours(1)).ok());
  Eventually(
      [&] { return !store.HistoryOf(source, {}, clock_.Now()).series.front().points.empty(); });
  EXPECT_EQ(store.HistoryOf(source, {}, clock_.Now()).series.front().points.back().value, 7);
}

}  // namespace
}  // namespace gpuscaler
