#include "serve/scaler_service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "health.pb.h"
#include "model/free_gpus.h"
#include "serve/test_served_scaler.h"

namespace gpuscaler {
namespace {

using externalscaler::GetMetricsRequest;
using externalscaler::GetMetricsResponse;
using ::testing::HasSubstr;

// An error is a failure of the test, and NaN, which equals no value.
double ValueOf(const absl::StatusOr<GetMetricsResponse>& reply) {
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() ? reply->metricvalues(0).metricvaluefloat() : std::nan("");
}

absl::Status CheckHealth(TestScalerClient& client) {
  return client.channel()
      .Call<grpc::health::v1::HealthCheckResponse>("/grpc.health.v1.Health/Check",
                                                   grpc::health::v1::HealthCheckRequest(),
                                                   {.timeout = absl::Seconds(10)})
      .status();
}

// A GPU with PCIe counters that were not requested.
GpuSample GpuWithoutPcie() {
  GpuSample gpu = BusyGpu(0, 50);
  gpu.gaps.push_back({GpuField::kPcie, GpuGap::Reason::kNotRequested, ""});
  return gpu;
}

TEST(ScalerService, ValueIsTheLoadOfAllReplicas) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60), BusyGpu(1, 31.2345)});
  const auto reply = scaler.client.GetMetrics(RefOf({{"targetValue", "70"}}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->metricvalues_size(), 1);
  EXPECT_EQ(reply->metricvalues(0).metricname(), "keda_gpu_metric");
  EXPECT_DOUBLE_EQ(reply->metricvalues(0).metricvaluefloat(), 91.235);
  EXPECT_EQ(reply->metricvalues(0).metricvalue(), 92) << "rounded up";
}

TEST(ScalerService, EachSnapshotIsEvaluated) {
  ServedScaler scaler;
  const externalscaler::ScaledObjectRef ref = RefOf({{"window", "0s"}});
  scaler.Sample({BusyGpu(0, 60)});
  EXPECT_EQ(ValueOf(scaler.client.GetMetrics(ref)), 60);
  scaler.clock.Advance(kTick);
  scaler.Sample({BusyGpu(0, 20)});
  EXPECT_EQ(ValueOf(scaler.client.GetMetrics(ref)), 20);
}

TEST(ScalerService, RequestedMetricNameIsIgnored) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  GetMetricsRequest request;
  *request.mutable_scaledobjectref() = RefOf({{"metricName", "ours"}});
  request.set_metricname("of-an-older-profile");
  const auto reply = scaler.client.GetMetrics(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->metricvalues(0).metricname(), "ours");
}

TEST(ScalerService, ActiveFollowsTheLoadOnceThereIsEvidence) {
  ServedScaler scaler;
  scaler.RepeatFor(absl::Seconds(70), {BusyGpu(0, 60)});
  const auto busy = scaler.client.IsActive(RefOf({}));
  ASSERT_TRUE(busy.ok()) << busy.status();
  EXPECT_TRUE(busy->result());
  scaler.RepeatFor(absl::Seconds(130), {FreeGpu(0)});
  const auto idle = scaler.client.IsActive(RefOf({}));
  ASSERT_TRUE(idle.ok()) << idle.status();
  EXPECT_FALSE(idle->result());
}

TEST(ScalerService, ThreadTicksWithoutASnapshot) {
  std::atomic<int> rounds = 0;
  ServedScaler scaler({.on_tick = [&rounds] { ++rounds; }});
  EXPECT_TRUE(Eventually([&rounds] { return rounds >= 3; }));
}

TEST(ScalerService, SpecNeedsNoSnapshot) {
  ServedScaler scaler;
  const auto reply =
      scaler.client.GetMetricSpec(RefOf({{"profile", "vllm-inference"}, {"targetValue", "70.5"}}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->metricspecs_size(), 1);
  EXPECT_EQ(reply->metricspecs(0).metricname(), "keda_gpu_vllm_inference");
  EXPECT_EQ(reply->metricspecs(0).targetsizefloat(), 70.5);
  EXPECT_EQ(reply->metricspecs(0).targetsize(), 71);
}

TEST(ScalerService, ExplanationCarriesTheDecision) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60), FreeGpu(1)});
  scaler.clock.Advance(absl::Seconds(3));
  const auto reply = scaler.client.Explain(RefOf({}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->code(), 0);
  EXPECT_EQ(reply->value(), 60);
  EXPECT_TRUE(reply->active());
  EXPECT_EQ(reply->target(), 80);
  EXPECT_EQ(reply->target_type(), "AverageValue");
  EXPECT_EQ(reply->replicas(), 1);
  ASSERT_EQ(reply->shares_size(), 2);
  EXPECT_EQ(reply->shares(0).load(), 60);
  EXPECT_EQ(reply->shares(1).state(), "unused");
  EXPECT_EQ(reply->snapshot_age_seconds(), 3);
  EXPECT_THAT(reply->text(), HasSubstr("value: 60"));
}

TEST(ScalerService, ExplanationHasANoteIfNoGpuIsFreeForMoreReplicas) {
  ServedScaler scaler;
  NodeSnapshot snapshot = {.taken_at = scaler.clock.Now(), .node = "n"};
  snapshot.attribution.state = Attribution::State::kKnown;
  snapshot.pods = {{.namespace_name = "default",
                    .name = "llm-a",
                    .owners = {{.kind = "Deployment", .name = "llm"}},
                    .owners_from = Pod::OwnersFrom::kReferences,
                    .ready = true}};
  snapshot.gpus = {BusyGpu(0, 90)};
  snapshot.gpus[0].holders = {{.pod = 0, .container = "main"}};
  MarkFreeGpus(snapshot);
  scaler.store.Put(snapshot);
  const auto reply = scaler.client.Explain(RefOf({{"workload", "llm"}}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->value(), 90);
  EXPECT_THAT(reply->notes(),
              testing::Contains("1 more replica of 1 GPU is requested, and there is room for 0: "
                                "none free"));
  EXPECT_THAT(reply->text(), HasSubstr("note: 1 more replica of 1 GPU is requested"));
}

TEST(ScalerService, ExplainingAnErrorSucceeds) {
  ServedScaler scaler({.snapshot_timeout = absl::Milliseconds(20)});
  const auto reply = scaler.client.Explain(RefOf({}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->code(), static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_EQ(reply->message(), "no GPU snapshot yet");
  EXPECT_EQ(reply->metric_name(), "keda_gpu_metric");
}

struct Malformed {
  const char* name;
  std::map<std::string, std::string> metadata;
  const char* error;
};

std::map<std::string, std::string> ManyKeys() {
  std::map<std::string, std::string> metadata = {{"profile", "vllm-inference"}};
  for (int i = 0; i < 300; ++i) metadata[absl::StrCat("k", i)] = "v";
  return metadata;
}

const std::vector<Malformed>& MalformedKinds() {
  static const auto& kinds = *new std::vector<Malformed>{
      {"unknown key", {{"targetVaule", "70"}}, "targetValue"},
      {"no number", {{"targetValue", "seventy"}}, "targetValue"},
      {"NaN", {{"targetValue", "NaN"}}, "targetValue"},
      {"infinite", {{"targetValue", "1e999"}}, "targetValue"},
      {"negative", {{"targetValue", "-1"}}, "targetValue"},
      {"wrong word", {{"aggregation", "p90"}}, "p95"},
      {"unknown profile", {{"profile", "vllm-inferense"}}, "vllm-inference"},
      {"unknown metric", {{"metricType", "gpu_utilisation"}}, "gpu_utilization"},
      {"no unit", {{"window", "30"}}, "window"},
      {"NUL", {{"profile", std::string("a\0b", 3)}}, "profile"},
      {"line break", {{"metricName", "a\nb"}}, "metricName"},
      {"many keys", ManyKeys(), "301 keys, at most 256"},
      {"much metadata",
       {{"profile", "vllm-inference"}, {"x", std::string(70'000, 'x')}},
       "bytes, at most 65536"},
  };
  return kinds;
}

TEST(ScalerService, LiveTriggersAreThoseWithALease) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  EXPECT_TRUE(scaler.service->LiveTriggers().empty());
  ASSERT_TRUE(scaler.client.GetMetrics(RefOf({})).ok());
  ASSERT_TRUE(scaler.client.IsActive(RefOf({{"metricName", "b"}})).ok());
  const absl::Time requested_at = scaler.clock.Now();
  scaler.RepeatFor(absl::Seconds(88), {BusyGpu(0, 60)});
  const std::vector<LiveTrigger> live = scaler.service->LiveTriggers();
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0].name, "b");
  EXPECT_EQ(live[1].name, "gpu_utilization") << "the metricType's in place of the default name";
  for (const LiveTrigger& trigger : live) {
    EXPECT_EQ(trigger.namespace_name, "default");
    EXPECT_EQ(trigger.scaled_object, "llm");
    EXPECT_EQ(trigger.requested_at, requested_at);
    const auto decision = scaler.service->Evaluate(trigger);
    ASSERT_TRUE(decision.ok()) << decision.status();
    EXPECT_EQ((*decision)->decision.value, 60);
  }
  scaler.RepeatFor(absl::Seconds(2), {BusyGpu(0, 60)});
  EXPECT_TRUE(scaler.service->LiveTriggers().empty()) << "Evaluate() does not prolong the lease";
}

TEST(ScalerService, LiveTriggersOfAScaledObjectAreItsOwn) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  externalscaler::ScaledObjectRef other = RefOf({});
  other.set_name("other");
  externalscaler::ScaledObjectRef elsewhere = RefOf({});
  elsewhere.set_namespace_("elsewhere");
  for (const auto& ref : {RefOf({}), RefOf({{"metricName", "b"}}), other, elsewhere}) {
    ASSERT_TRUE(scaler.client.IsActive(ref).ok());
  }
  EXPECT_EQ(scaler.service->LiveTriggers().size(), 4u);
  const std::vector<LiveTrigger> live = scaler.service->LiveTriggersOf("default", "llm");
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0].name, "b");
  EXPECT_EQ(live[1].name, "gpu_utilization");
  EXPECT_EQ(scaler.service->LiveTriggersOf("elsewhere", "llm").size(), 1u);
  EXPECT_TRUE(scaler.service->LiveTriggersOf("default", "none").empty());
}

TEST(ScalerService, OnlyKedasTriggersAreLiveForTheExpectedGap) {
  ServedScaler scaler({.expected_gap = absl::Minutes(10)});
  scaler.Sample({BusyGpu(0, 60)});
  ASSERT_TRUE(scaler.client.GetMetrics(RefOf({{"metricName", "polled"}})).ok());
  ASSERT_TRUE(scaler.client.Explain(RefOf({{"metricName", "explained"}})).ok());
  ASSERT_FALSE(scaler.client.GetMetrics(RefOf({{"aggregation", "p90"}})).ok());
  EXPECT_EQ(scaler.service->LiveTriggers().size(), 3u);
  scaler.clock.Advance(kShortestLease);
  ASSERT_EQ(scaler.service->LiveTriggers().size(), 1u);
  EXPECT_EQ(scaler.service->LiveTriggers()[0].name, "polled");
  scaler.clock.Advance(absl::Minutes(30) - kShortestLease);
  EXPECT_TRUE(scaler.service->LiveTriggers().empty());
}

TEST(ScalerService, EditedTriggerReplacesTheFormerOneOfItsName) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  ASSERT_TRUE(scaler.client.GetMetrics(RefOf({{"targetValue", "70"}})).ok());
  scaler.clock.Advance(absl::Seconds(1));
  ASSERT_TRUE(scaler.client.GetMetrics(RefOf({{"targetValue", "50"}})).ok());
  const std::vector<LiveTrigger> live = scaler.service->LiveTriggers();
  ASSERT_EQ(live.size(), 1u);
  EXPECT_EQ(live[0].parsed->spec.target, 50);
}

TEST(ScalerService, MalformedMetadataIsAnErrorThatKedaShows) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  for (const Malformed& kind : MalformedKinds()) {
    const externalscaler::ScaledObjectRef ref = RefOf(kind.metadata);
    for (const absl::Status& status :
         {scaler.client.IsActive(ref).status(), scaler.client.GetMetrics(ref).status(),
          scaler.client.Explain(ref).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << kind.name;
      EXPECT_THAT(std::string(status.message()), HasSubstr(kind.error)) << kind.name;
    }
  }
}

TEST(ScalerService, MalformedMetadataStillHasASpec) {
  ServedScaler scaler;
  for (const Malformed& kind : MalformedKinds()) {
    const auto reply = scaler.client.GetMetricSpec(RefOf(kind.metadata));
    ASSERT_TRUE(reply.ok()) << kind.name << ": " << reply.status();
    ASSERT_EQ(reply->metricspecs_size(), 1) << kind.name;
    EXPECT_GT(reply->metricspecs(0).targetsizefloat(), 0) << kind.name;
    const bool readable =
        kind.metadata.count("profile") == 1 && kind.metadata.at("profile") == "vllm-inference";
    EXPECT_EQ(reply->metricspecs(0).metricname(),
              readable ? "keda_gpu_vllm_inference" : "keda_gpu_metric")
        << kind.name;
  }
}

TEST(ScalerService, MetricsWithoutAScaledObjectAreRefused) {
  ServedScaler scaler;
  const absl::Status status = scaler.client.GetMetrics(GetMetricsRequest()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("scaledObjectRef"));
}

TEST(ScalerService, WithoutANameOnlyTheSpecIsReturned) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  externalscaler::ScaledObjectRef nameless = RefOf({{"profile", "vllm-inference"}});
  nameless.clear_name();
  for (const absl::Status& status :
       {scaler.client.IsActive(nameless).status(), scaler.client.GetMetrics(nameless).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("has no name"));
  }
  const auto spec = scaler.client.GetMetricSpec(nameless);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->metricspecs(0).metricname(), "keda_gpu_vllm_inference");
}

TEST(ScalerService, InvalidRequestsAreLoggedWithTheirPeerAtALimitedRate) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  externalscaler::ScaledObjectRef nameless = RefOf({});
  nameless.clear_name();
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(scaler.client.GetMetrics(GetMetricsRequest()).ok());
  EXPECT_FALSE(scaler.client.IsActive(RefOf({{"x", std::string(70'000, 'x')}})).ok());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(scaler.client.IsActive(nameless).ok());
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("level=warn event=request_refused method=GetMetrics "
                             "peer=127.0.0.1 "));
  EXPECT_THAT(log, HasSubstr("why=\"no scaledObjectRef\" dropped=0\n"));
  EXPECT_THAT(log, HasSubstr("bytes, at most 65536\""));
  EXPECT_THAT(log, HasSubstr("has no name"));
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 10) << "in 10 s";
}

TEST(ScalerService, ErrorWithManyFaultsFitsTheTrailersAndCountsTheRest) {
  ServedScaler scaler;
  std::map<std::string, std::string> metadata;
  for (int i = 0; i < 200; ++i) metadata[absl::StrCat("unknown\xE2\x82\xAC", i)] = "v";
  const absl::Status status = scaler.client.IsActive(RefOf(metadata)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::ContainsRegex("; and 1[0-9][0-9] more$"));
}

TEST(ScalerService, ScopeThatCanNeverBeReadIsAFailedPrecondition) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  const absl::Status status = scaler.client.IsActive(RefOf({{"gpuIndex", "5"}})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

TEST(ScalerService, WithoutASnapshotACallIsUnavailableAfterItsTimeout) {
  const absl::Duration timeout = absl::Milliseconds(300);
  ServedScaler scaler({.snapshot_timeout = timeout});
  const SteadyClock real;
  const absl::Time before = real.Now();
  const absl::Status status = scaler.client.GetMetrics(RefOf({})).status();
  const absl::Duration took = real.Now() - before;
  EXPECT_EQ(status, absl::UnavailableError("no GPU snapshot yet"));
  EXPECT_GE(took, timeout);
  EXPECT_LT(took, absl::Seconds(10));
}

TEST(ScalerService, StaleSnapshotIsUnavailableNotZero) {
  ServedScaler scaler({.snapshot_timeout = absl::Milliseconds(20)});
  scaler.Sample({BusyGpu(0, 60)});
  scaler.clock.Advance(absl::Minutes(1));
  EXPECT_EQ(scaler.client.IsActive(RefOf({})).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(scaler.client.GetMetrics(RefOf({})).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(scaler.counted.decided(Outcome::kUnavailable), 2);
}

TEST(ScalerService, WaitingCallGetsTheSnapshotThatComes) {
  ServedScaler scaler({.snapshot_timeout = absl::Seconds(60)});
  auto call = std::async(std::launch::async, [&] { return scaler.client.GetMetrics(RefOf({})); });
  ASSERT_TRUE(Eventually([&] { return scaler.service->waiting_calls() == 1; }));
  scaler.Sample({BusyGpu(0, 60)});
  EXPECT_EQ(ValueOf(call.get()), 60);
}

TEST(ScalerService, CostlyReadingIsLeasedAndAwaited) {
  ServedScaler scaler({.snapshot_timeout = absl::Seconds(60)});
  scaler.Sample({GpuWithoutPcie()});
  EXPECT_FALSE(scaler.leases.Subscription(scaler.clock.Now()).pcie);
  auto call = std::async(std::launch::async, [&] {
    return scaler.client.GetMetrics(RefOf({{"metricType", "pcie_tx_kbps"}}));
  });
  ASSERT_TRUE(Eventually([&] { return scaler.service->waiting_calls() == 1; }));
  EXPECT_EQ(scaler.sampler_wakes, 1);
  EXPECT_TRUE(scaler.leases.Subscription(scaler.clock.Now() + absl::Seconds(89)).pcie);
  EXPECT_FALSE(scaler.leases.Subscription(scaler.clock.Now() + absl::Seconds(91)).pcie);
  GpuSample read = BusyGpu(0, 50);
  read.pcie_tx_kbps = 1000;
  scaler.clock.Advance(absl::Seconds(1));
  scaler.Sample({read});
  EXPECT_EQ(ValueOf(call.get()), 1000);
}

// GPM needs two samples: the first reading under a lease still has no value.
TEST(ScalerService, ActivityIsAwaitedOverTheReadingWithoutAValue) {
  ServedScaler scaler({.snapshot_timeout = absl::Seconds(60)});
  GpuSample unread = BusyGpu(0, 50);
  unread.gaps.push_back({GpuField::kSmActivity, GpuGap::Reason::kNotRequested, ""});
  scaler.Sample({unread});
  auto call = std::async(std::launch::async, [&] {
    return scaler.client.GetMetrics(RefOf({{"metricType", "sm_activity"}}));
  });
  ASSERT_TRUE(Eventually([&] { return scaler.service->waiting_calls() == 1; }));
  EXPECT_EQ(scaler.leases.Subscription(scaler.clock.Now() + absl::Seconds(89)),
            CostlyReadings{.activity = true});
  scaler.clock.Advance(absl::Seconds(1));
  unread.gaps[0].detail = "no value yet: GPM needs two samples";
  scaler.Sample({unread});
  GpuSample read = BusyGpu(0, 50);
  read.sm_activity_percent = 35;
  scaler.clock.Advance(absl::Seconds(1));
  scaler.Sample({read});
  EXPECT_EQ(ValueOf(call.get()), 35);
}

TEST(ScalerService, CheapReadingsDoNotWakeTheSampler) {
  ServedScaler scaler;
  scaler.Sample({GpuWithoutPcie()});
  ASSERT_TRUE(scaler.client.IsActive(RefOf({})).ok());
  EXPECT_EQ(scaler.sampler_wakes, 0);
  EXPECT_FALSE(scaler.leases.Subscription(scaler.clock.Now()).pcie);
}

TEST(ScalerService, StopCompletesWaitingCalls) {
  ServedScaler scaler({.snapshot_timeout = absl::Seconds(60)});
  auto call = std::async(std::launch::async, [&] { return scaler.client.GetMetrics(RefOf({})); });
  ASSERT_TRUE(Eventually([&] { return scaler.service->waiting_calls() == 1; }));
  scaler.service->StopStreams();
  ASSERT_EQ(call.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(call.get().status().code(), absl::StatusCode::kUnavailable);
}

TEST(ScalerService, RequestsAreCountedByCode) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  ASSERT_TRUE(scaler.client.IsActive(RefOf({})).ok());
  ASSERT_FALSE(scaler.client.IsActive(RefOf({{"x", "y"}})).ok());
  EXPECT_EQ(scaler.counted.answered(Rpc::kIsActive, absl::StatusCode::kOk), 1);
  EXPECT_EQ(scaler.counted.answered(Rpc::kIsActive, absl::StatusCode::kInvalidArgument), 1);
}

TEST(ScalerService, OutcomeIsLoggedOnce) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  externalscaler::ScaledObjectRef ref = RefOf({{"targetVaule", "secret"}});
  ref.set_name(std::string(253, 'n'));
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(scaler.client.IsActive(ref).ok());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("level=warn event=trigger_outcome"));
  EXPECT_THAT(log, HasSubstr(" scaledobject=" + std::string(253, 'n') + " "));
  EXPECT_THAT(log, HasSubstr("outcome=bad_metadata key=targetVaule "));
  EXPECT_THAT(log, ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(log.find("trigger_outcome"), log.rfind("trigger_outcome")) << log;
}

TEST(ScalerService, LogsBadKeysWithoutTheirValues) {
  ServedScaler scaler;
  testing::internal::CaptureStderr();
  ASSERT_FALSE(scaler.client
                   .IsActive(RefOf({{"windowFromEnv", "hunter2"},
                                    {"aggregation", "hunter2"},
                                    {std::string(300, 'k'), "hunter2"}}))
                   .ok());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr(absl::StrCat(" key=aggregation,", std::string(241, 'k'), " ")));
  EXPECT_THAT(log, ::testing::Not(HasSubstr("hunter2")));
}

TEST(ScalerService, OutcomeBeyondTheRateLimitIsLoggedLater) {
  ServedScaler scaler;
  const auto log_of_call = [&](int number) {
    externalscaler::ScaledObjectRef ref = RefOf({{"targetVaule", "70"}});
    ref.set_name(absl::StrCat("llm-", number, "-"));
    testing::internal::CaptureStderr();
    EXPECT_FALSE(scaler.client.IsActive(ref).ok());
    return testing::internal::GetCapturedStderr();
  };
  for (int number = 0; number < 20; ++number) {
    EXPECT_THAT(log_of_call(number), HasSubstr(absl::StrCat("llm-", number, "-")));
  }
  EXPECT_THAT(log_of_call(20), ::testing::IsEmpty()) << "20 in 10 s are let through";
  scaler.clock.Advance(absl::Seconds(11));
  EXPECT_THAT(log_of_call(20), HasSubstr("llm-20-"));
}

TEST(ScalerService, DecisionsAreCountedOnceForEachSnapshotByTheirOutcome) {
  ServedScaler scaler;
  const externalscaler::ScaledObjectRef ref =
      RefOf({{"profile", "vllm-inference"}, {"warmupSeconds", "0"}});
  scaler.RepeatFor(absl::Minutes(3), {BusyGpu(0, 30, 91)});
  ASSERT_TRUE(scaler.client.GetMetrics(ref).ok());
  ASSERT_TRUE(scaler.client.GetMetrics(ref).ok());
  EXPECT_EQ(scaler.counted.decided(Outcome::kSaturationUnknown), 1);
  scaler.RepeatFor(kTick, {BusyGpu(0, 30, 91)});
  ASSERT_TRUE(scaler.client.GetMetrics(ref).ok());
  EXPECT_EQ(scaler.counted.decided(Outcome::kSaturationUnknown), 2);
  EXPECT_FALSE(scaler.client.GetMetrics(RefOf({{"profil", "vllm-inference"}})).ok());
  EXPECT_EQ(scaler.counted.decided(Outcome::kBadMetadata), 1);
}

TEST(ScalerService, TriggersOutsideOfItsNamespacesAreRefused) {
  ServedScaler scaler({.namespaces = {"team-a", "team-b"}});
  scaler.Sample({BusyGpu(0, 60)});
  externalscaler::ScaledObjectRef ref = RefOf({{"scope", "workload"}});
  ref.set_namespace_("team-c");
  for (const absl::Status& status :
       {scaler.client.GetMetrics(ref).status(), scaler.client.IsActive(ref).status(),
        *scaler.client.StreamIsActive(ref)->WaitForEnd(), scaler.client.Explain(ref).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_EQ(status.message(),
              "this aggregator does not serve namespace team-c: it has "
              "--namespaces=team-a,team-b; let scalerAddress name the Service of an aggregator "
              "that does, or add the namespace");
  }
  EXPECT_TRUE(scaler.client.GetMetricSpec(ref).ok()) << "the spec needs no GPUs";
  ref.set_namespace_("team-b");
  EXPECT_EQ(ValueOf(scaler.client.GetMetrics(ref)), 60);
}

TEST(ScalerService, ScopesOfAllGpusAreRefusedWithNamespaces) {
  ServedScaler scaler({.namespaces = {"team-a"}});
  scaler.Sample({BusyGpu(0, 60)});
  for (const std::string scope : {"node", "fleet"}) {
    externalscaler::ScaledObjectRef ref = RefOf({{"scope", scope}});
    ref.set_namespace_("team-a");
    const absl::Status status = scaler.client.GetMetrics(ref).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("scope: ", scope, " counts GPUs of all namespaces")));
    EXPECT_THAT(std::string(status.message()), HasSubstr("use scope: workload"));
  }
}

TEST(ScalerService, ExplanationDelaysNoOtherClient) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  ASSERT_TRUE(scaler.client.Explain(RefOf({})).ok()) << "there is a decision from now on";
  Barrier barrier;
  scaler.counted.AtNextExplanation([&] { barrier.Pass(); });
  auto explanation =
      std::async(std::launch::async, [&] { return scaler.client.Explain(RefOf({})); });
  ASSERT_TRUE(barrier.WaitForArrival());
  TestScalerClient other({.address = scaler.address});
  EXPECT_EQ(CheckHealth(other), absl::OkStatus());
  EXPECT_EQ(ValueOf(other.GetMetrics(RefOf({}))), 60);
  EXPECT_EQ(ValueOf(other.GetMetrics(RefOf({{"window", "0s"}}))), 60) << "a new decision";
  barrier.Open();
  EXPECT_TRUE(explanation.get().ok());
}

TEST(ScalerService, CallsThatTheirClientHasEndedCostNoDecision) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  const auto begin = [&](const char* window) {
    externalscaler::GetMetricsRequest request;
    *request.mutable_scaledobjectref() = RefOf({{"window", window}});
    auto call = std::make_unique<TestCall<GetMetricsRequest, GetMetricsResponse>>(
        scaler.client.channel(), "/externalscaler.ExternalScaler/GetMetrics");
    call->Send(request);
    return call;
  };
  Barrier barriers[2];  // one for each thread that decides
  scaler.counted.AtNextDecision([&] { barriers[0].Pass(); });
  const auto first = begin("1s");
  ASSERT_TRUE(barriers[0].WaitForArrival());
  scaler.counted.AtNextDecision([&] { barriers[1].Pass(); });
  const auto second = begin("2s");
  ASSERT_TRUE(barriers[1].WaitForArrival());

  const auto third = begin("3s");
  ASSERT_EQ(CheckHealth(scaler.client), absl::OkStatus()) << "the server has the third call";
  third->Cancel();
  ASSERT_EQ(CheckHealth(scaler.client), absl::OkStatus()) << "the server has its end";
  for (Barrier& barrier : barriers) barrier.Open();
  EXPECT_TRUE(Eventually([&] {
    return scaler.counted.answered(Rpc::kGetMetrics, absl::StatusCode::kCancelled) == 1;
  }));
  for (const auto* call : {&first, &second}) EXPECT_EQ((*call)->WaitForEnd(), absl::OkStatus());
  EXPECT_EQ(scaler.counted.decided(Outcome::kValue), 2);
}

TEST(ScalerService, ParsingMetadataDelaysNoOtherClient) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  const std::vector<std::function<void(const externalscaler::ScaledObjectRef&)>> requests = {
      [&](const auto& ref) { EXPECT_TRUE(scaler.client.GetMetricSpec(ref).ok()); },
      [&](const auto& ref) { EXPECT_FALSE(scaler.client.IsActive(ref).ok()); },
      [&](const auto& ref) {
        EXPECT_NE(scaler.client.StreamIsActive(ref)->WaitForEnd(), absl::OkStatus());
      },
  };
  for (size_t i = 0; i < requests.size(); ++i) {
    Barrier barrier;
    scaler.counted.AtNextDecision([&] { barrier.Pass(); });
    const auto ref = RefOf({{absl::StrCat("unknown", i), ""}});
    auto pending = std::async(std::launch::async, [&] { requests[i](ref); });
    ASSERT_TRUE(barrier.WaitForArrival()) << i;
    TestScalerClient other({.address = scaler.address});
    EXPECT_EQ(CheckHealth(other), absl::OkStatus()) << i;
    EXPECT_EQ(ValueOf(other.GetMetrics(RefOf({}))), 60) << i;
    barrier.Open();
    pending.get();
  }
}

}  // namespace
}  // namespace gpuscaler
