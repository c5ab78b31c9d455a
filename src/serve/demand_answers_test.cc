// Answers to KEDA for triggers on engines, metrics endpoints and queues. The tests fill the
// server's signal store.
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/test_served_scaler.h"
#include "serve/trigger_cache.h"
#include "signal/signal_store.h"

namespace gpuscaler {
namespace {

using externalscaler::IsActiveResponse;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Property;

const SignalSource kJobs{
    .namespace_name = "default",
    .target =
        RedisQueue{.address = "redis:6379", .length = RedisQueue::Length::kList, .key = "jobs"}};

externalscaler::ScaledObjectRef JobsRef() {
  return RefOf({{"metricType", "redis_list_length"},
                {"redisAddress", "redis:6379"},
                {"redisList", "jobs"},
                {"jobsPerReplica", "5"}});
}

// Without a replica the answer is repeated, first after a second. That is at once if the clock
// advances during the first decision.
auto IsTrueOnceOrRepeated() {
  return AllOf(Not(IsEmpty()), Each(Property(&IsActiveResponse::result, true)));
}

class DemandAnswersTest : public testing::Test {
 protected:
  explicit DemandAnswersTest(bool finds_engines = false)
      : scaler_({}, "", {.bind_address = "127.0.0.1"},
                {.store = &signals_, .finds_engines = finds_engines}) {}

  // Returns the value, or the error's message.
  std::string ValueOf(const externalscaler::ScaledObjectRef& ref) {
    const auto reply = scaler_.client.GetMetrics(ref);
    if (!reply.ok()) return std::string(reply.status().message());
    return absl::StrCat(reply->metricvalues(0).metricvaluefloat());
  }

  // Same as a reader of the queue.
  void Read(double length) {
    scaler_.clock.Advance(absl::Seconds(1));
    signals_.AddQueueLength(kJobs,
                            CounterPoint{.instant = {.at = scaler_.clock.Now()}, .value = length});
  }

  bool IsSubscribed(const SignalSource& source) {
    for (const LeasedSource& wanted : signals_.LeasedSources(scaler_.clock.Now())) {
      if (wanted.source == source) return true;
    }
    return false;
  }

  SignalStore signals_{{.max_gap = absl::Seconds(5)}, [] {}};
  ServedScaler scaler_;
};

// A scaler with engine discovery.
class FoundEngineAnswersTest : public DemandAnswersTest {
 protected:
  FoundEngineAnswersTest() : DemandAnswersTest(true) {}
};

TEST_F(DemandAnswersTest, FirstRequestWaitsForTheFirstReading) {
  auto answer = std::async(std::launch::async, [this] { return ValueOf(JobsRef()); });
  ASSERT_TRUE(Eventually([this] { return IsSubscribed(kJobs); }));
  Read(47);
  EXPECT_EQ(answer.get(), "47") << "no GPU was read, and none has to be";
}

TEST_F(DemandAnswersTest, ValueIsClampedToTheBoundsOfTargets) {
  auto answer = std::async(std::launch::async, [this] { return ValueOf(JobsRef()); });
  ASSERT_TRUE(Eventually([this] { return IsSubscribed(kJobs); }));
  Read(1.7e308);
  EXPECT_EQ(answer.get(), "1e+12") << "KEDA makes thousandths of it, as an int64";
}

TEST_F(DemandAnswersTest, SpecOfATriggerThatIsTooLargeHasItsJobsPerReplica) {
  externalscaler::ScaledObjectRef large = JobsRef();
  (*large.mutable_scalermetadata())["x"] = std::string(70'000, 'x');
  const auto spec = scaler_.client.GetMetricSpec(large);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->metricspecs(0).targetsizefloat(), 5);
}

TEST_F(DemandAnswersTest, RequestWithoutAReadingIsUnavailable) {
  EXPECT_EQ(scaler_.client.GetMetrics(JobsRef()).status(),
            absl::UnavailableError("list jobs at redis:6379: not read yet"));
}

// The clock does not advance, so nothing else ends the wait for the first reading.
TEST_F(DemandAnswersTest, RequestForAFailedSourceReturnsAtOnce) {
  auto answer = std::async(std::launch::async, [this] { return ValueOf(JobsRef()); });
  ASSERT_TRUE(Eventually([this] { return IsSubscribed(kJobs); }));
  signals_.AddQueueLength(kJobs, absl::UnavailableError("redis:6379: connection refused"));
  EXPECT_THAT(answer.get(), HasSubstr("connection refused"));
  EXPECT_THAT(ValueOf(JobsRef()), HasSubstr("connection refused"));
}

TEST_F(DemandAnswersTest, PushedStreamFollowsTheQueueWithoutAnyGpu) {
  const auto stream = scaler_.client.StreamIsActive(JobsRef());
  ASSERT_TRUE(Eventually([this] { return IsSubscribed(kJobs); }));
  Read(0);
  ASSERT_TRUE(Eventually([this] { return scaler_.counted.decided(Outcome::kValue) > 0; }));
  Read(1);
  EXPECT_THAT(stream->WaitForMessages(1), IsTrueOnceOrRepeated());
}

TEST_F(DemandAnswersTest, SourceIsSubscribedWhileItIsRequested) {
  auto answer = std::async(std::launch::async, [this] { return ValueOf(JobsRef()); });
  ASSERT_TRUE(Eventually([this] { return IsSubscribed(kJobs); }));
  Read(3);
  EXPECT_EQ(answer.get(), "3");
  scaler_.clock.Advance(kShortestLease);
  EXPECT_FALSE(IsSubscribed(kJobs));
}

TEST_F(DemandAnswersTest, SourceIsReadAgainAfterAnOutageOfKeda) {
  const auto first_answer = [this] {
    auto answer = std::async(std::launch::async, [this] { return ValueOf(JobsRef()); });
    EXPECT_TRUE(Eventually([this] { return IsSubscribed(kJobs); }));
    Read(3);
    return answer.get();
  };
  EXPECT_EQ(first_answer(), "3");
  scaler_.clock.Advance(absl::Minutes(10));
  ASSERT_FALSE(IsSubscribed(kJobs));
  EXPECT_EQ(first_answer(), "3") << "it is read again";
  scaler_.clock.Advance(absl::Minutes(29));
  EXPECT_TRUE(IsSubscribed(kJobs)) << "as for a poll every 10 minutes";
}

TEST_F(DemandAnswersTest, EndpointOfAnotherNamespaceIsRefusedByItsKey) {
  externalscaler::ScaledObjectRef ref = JobsRef();
  (*ref.mutable_scalermetadata())["redisAddress"] = "redis.other.svc:6379";
  const absl::Status status = scaler_.client.GetMetrics(ref).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("redisAddress"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--allow-endpoints"));
  EXPECT_THAT(signals_.LeasedSources(scaler_.clock.Now()), IsEmpty());
}

TEST_F(DemandAnswersTest, EnginesOfAnotherNamespaceAreRefusedByTheWrittenKey) {
  for (const char* key : {"engineEndpoint", "vllmEndpoint"}) {
    const absl::Status status = scaler_.client
                                    .GetMetrics(RefOf({{"metricType", "vllm_queue_depth"},
                                                       {key, "http://llm.other.svc:8000"}}))
                                    .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(key, ": ")));
  }
}

TEST_F(DemandAnswersTest, EnginesMustBeNamedWithoutDiscovery) {
  const absl::Status status =
      scaler_.client.GetMetrics(RefOf({{"metricType", "requests_in_flight"}})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("engineEndpoint is missing"));
}

TEST_F(DemandAnswersTest, EngineProfileWithoutAReadableEngineCountsItsGpus) {
  scaler_.RepeatFor(absl::Seconds(150), {BusyGpu(0, 60)});
  const auto reply = scaler_.client.GetMetrics(RefOf({{"profile", "vllm-inference"}}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_GT(reply->metricvalues(0).metricvaluefloat(), 0);
}

TEST_F(DemandAnswersTest, EnginesAtANameAreReplicasWithTheirRequests) {
  const SignalSource engines{.namespace_name = "default",
                             .target = EngineEndpoint{.url = "http://llm:8000"}};
  const externalscaler::ScaledObjectRef ref = RefOf({{"metricType", "requests_in_flight"},
                                                     {"engineEndpoint", "http://llm:8000"},
                                                     {"scope", "fleet"},
                                                     {"window", "0s"}});
  scaler_.Sample({FreeGpu(0)});
  auto answer = std::async(std::launch::async, [&] { return ValueOf(ref); });
  ASSERT_TRUE(Eventually([&] { return IsSubscribed(engines); }));
  const EngineAddress first{.address = "10.0.0.1", .port = 8000};
  const EngineAddress second{.address = "10.0.0.2", .port = 8000};
  scaler_.clock.Advance(absl::Seconds(1));
  const auto update = [this](double waiting, double running) {
    return EngineUpdate{
        .at = scaler_.clock.Now(),
        .engine = "vllm",
        .reading = EngineReading{{{.model = "m", .waiting = waiting, .running = running}}}};
  };
  signals_.SetEngines(engines, std::vector{first, second}, scaler_.clock.Now());
  signals_.AddReading(engines, first, update(10, 20));
  signals_.AddReading(engines, second, update(0, 7));
  EXPECT_EQ(answer.get(), "37");
}

// Before the first engine the trigger is decided on nodes, which have generations; after it without
// nodes.
TEST_F(DemandAnswersTest, FirstEngineAtANameIsPushed) {
  const SignalSource engines{.namespace_name = "default",
                             .target = EngineEndpoint{.url = "http://llm:8000"}};
  scaler_.Sample({FreeGpu(0)});
  const auto stream = scaler_.client.StreamIsActive(RefOf({{"metricType", "requests_running"},
                                                           {"engineEndpoint", "http://llm:8000"},
                                                           {"scope", "fleet"},
                                                           {"window", "0s"},
                                                           {"activationWindow", "0s"}}));
  ASSERT_TRUE(Eventually([&] { return IsSubscribed(engines); }));
  signals_.SetEngines(engines, std::vector<EngineAddress>(), scaler_.clock.Now());
  ASSERT_TRUE(Eventually([this] { return scaler_.counted.decided(Outcome::kValue) > 0; }));
  const EngineAddress place{.address = "10.0.0.1", .port = 8000};
  scaler_.clock.Advance(absl::Seconds(1));
  signals_.SetEngines(engines, std::vector{place}, scaler_.clock.Now());
  signals_.AddReading(engines, place,
                      {.at = scaler_.clock.Now(),
                       .engine = "vllm",
                       .reading = EngineReading{{{.model = "m", .waiting = 0, .running = 3}}}});
  EXPECT_THAT(stream->WaitForMessages(1), IsTrueOnceOrRepeated());
}

// The trigger needs no owners. GPUs in use show that the name may be a wrong one.
TEST_F(DemandAnswersTest, NameWithoutAddressIsZeroOnlyWhileNoGpuIsInUse) {
  const SignalSource engines{.namespace_name = "default",
                             .target = EngineEndpoint{.url = "http://llm:8000"}};
  const externalscaler::ScaledObjectRef ref = RefOf({{"metricType", "requests_in_flight"},
                                                     {"engineEndpoint", "http://llm:8000"},
                                                     {"scope", "fleet"},
                                                     {"window", "0s"}});
  scaler_.Sample({BusyGpu(0, 100)});
  auto answer = std::async(std::launch::async, [&] { return ValueOf(ref); });
  ASSERT_TRUE(Eventually([&] { return IsSubscribed(engines); }));
  const auto list = [&](const std::vector<EngineAddress>& places) {
    signals_.SetEngines(engines, places, scaler_.clock.Now());
  };
  list({});
  EXPECT_THAT(answer.get(), HasSubstr("http://llm:8000 has no address"));

  const EngineAddress place{.address = "10.0.0.1", .port = 8000};
  list({place});
  scaler_.clock.Advance(absl::Seconds(1));
  signals_.AddReading(engines, place,
                      {.at = scaler_.clock.Now(),
                       .engine = "vllm",
                       .reading = EngineReading{{{.model = "m", .waiting = 3, .running = 4}}}});
  EXPECT_EQ(ValueOf(ref), "7");

  list({});
  EXPECT_THAT(ValueOf(ref), HasSubstr("http://llm:8000 has no address"));
  scaler_.Sample({FreeGpu(0)});
  EXPECT_EQ(ValueOf(ref), "0");
}

TEST_F(FoundEngineAnswersTest, NoneFoundIsZeroOnlyWhileNoGpuIsInUse) {
  const SignalSource engines{.namespace_name = "default", .target = DiscoveredEngines()};
  const externalscaler::ScaledObjectRef ref =
      RefOf({{"metricType", "requests_in_flight"}, {"scope", "fleet"}, {"window", "0s"}});
  scaler_.Sample({BusyGpu(0, 100)});
  auto answer = std::async(std::launch::async, [&] { return ValueOf(ref); });
  ASSERT_TRUE(Eventually([&] { return IsSubscribed(engines); }));
  signals_.SetEngines(engines, std::vector<EngineAddress>(), scaler_.clock.Now());
  EXPECT_EQ(answer.get(), "no engine is found; and GPUs are in use");
  scaler_.clock.Advance(absl::Seconds(1));
  scaler_.Sample({FreeGpu(0)});
  EXPECT_EQ(ValueOf(ref), "0");
}

class GatewayAnswersTest : public DemandAnswersTest {
 protected:
  const SignalSource engines_{.namespace_name = "default",
                              .target = EngineEndpoint{.url = "http://llm:8000"}};
  const SignalSource gateway_{
      .namespace_name = "default",
      .target = MetricsEndpoint{.url = "http://gateway:9090/metrics", .selector = "queue_size"}};

  static externalscaler::ScaledObjectRef Ref() {
    return RefOf({{"profile", "vllm-inference"},
                  {"engineEndpoint", "http://llm:8000"},
                  {"gatewayUrl", "http://gateway:9090/metrics"},
                  {"prometheusMetric", "queue_size"},
                  {"scope", "fleet"}});
  }

  // No engine runs, and the gateway holds this many requests.
  void Hold(double requests) {
    scaler_.clock.Advance(absl::Seconds(1));
    signals_.SetEngines(engines_, std::vector<EngineAddress>(), scaler_.clock.Now());
    signals_.SetEndpointAddresses(gateway_, std::vector<std::string>{"10.0.0.9"});
    signals_.AddSample(gateway_, "10.0.0.9",
                       CounterPoint{.instant = {.at = scaler_.clock.Now()}, .value = requests});
  }
};

TEST_F(GatewayAnswersTest, HeldRequestsNeedAReplicaIfThereIsNone) {
  scaler_.Sample({FreeGpu(0)});
  auto answer = std::async(std::launch::async, [this] { return ValueOf(Ref()); });
  ASSERT_TRUE(Eventually([this] { return IsSubscribed(engines_) && IsSubscribed(gateway_); }));
  Hold(0);
  EXPECT_EQ(answer.get(), "0");
  Hold(300);
  EXPECT_EQ(ValueOf(Ref()), "80") << "a reading of the gateway alone causes a new decision";
}

TEST_F(GatewayAnswersTest, FirstHeldRequestIsPushed) {
  scaler_.Sample({FreeGpu(0)});
  const auto stream = scaler_.client.StreamIsActive(Ref());
  ASSERT_TRUE(Eventually([this] { return IsSubscribed(engines_) && IsSubscribed(gateway_); }));
  Hold(0);
  ASSERT_TRUE(Eventually([this] { return scaler_.counted.decided(Outcome::kValue) > 0; }));
  Hold(1);
  EXPECT_THAT(stream->WaitForMessages(1), IsTrueOnceOrRepeated());
}

TEST_F(GatewayAnswersTest, GatewayOfAnotherNamespaceIsRefusedByTheWrittenKey) {
  for (const char* key : {"gatewayUrl", "gatewayUrlFromEnv"}) {
    externalscaler::ScaledObjectRef ref = Ref();
    ref.mutable_scalermetadata()->erase("gatewayUrl");
    (*ref.mutable_scalermetadata())[key] = "http://gateway.other.svc:9090/metrics";
    const absl::Status status = scaler_.client.GetMetrics(ref).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(key, ": ")));
  }
}

TEST_F(GatewayAnswersTest, InvalidSelectorIsRefusedByTheWrittenKey) {
  for (const char* key : {"prometheusMetric", "prometheusMetricFromEnv"}) {
    externalscaler::ScaledObjectRef ref = Ref();
    ref.mutable_scalermetadata()->erase("prometheusMetric");
    (*ref.mutable_scalermetadata())[key] = "queue_size{";
    const absl::Status status = scaler_.client.GetMetrics(ref).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(key, ": ")));
  }
}

TEST_F(GatewayAnswersTest, EnginesBehindAGatewayMustBeNamedWithoutDiscovery) {
  externalscaler::ScaledObjectRef ref = Ref();
  ref.mutable_scalermetadata()->erase("engineEndpoint");
  EXPECT_THAT(ValueOf(ref), HasSubstr("engineEndpoint is missing"));
}

}  // namespace
}  // namespace gpuscaler
