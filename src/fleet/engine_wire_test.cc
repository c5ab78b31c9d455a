#include "fleet/engine_wire.h"

#include <cmath>
#include <limits>

#include "fleet/test_engines.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

const absl::Time kReadAt = absl::FromUnixSeconds(1'767'225'600);
const double kInfinity = std::numeric_limits<double>::infinity();

ModelReading Everything() {
  const Histogram histogram{.buckets = {{0.1, 1}, {1, 5}, {kInfinity, 7}}};
  return {.model = "llama",
          .waiting = 1,
          .running = 2,
          .kv_cache_usage_ratio = 0.5,
          .limit = 64,
          .requests_done = 100,
          .queued_requests = 101,
          .queue_seconds = 3.5,
          .prompt_tokens = 1e6,
          .generation_tokens = 2e6,
          .preemptions = 0,
          .answers = 98,
          .answer_tokens = 1.9e6,
          .first_token_seconds = histogram,
          .output_token_seconds = histogram,
          .counters_began = 1.7e9};
}

EngineUpdate AcrossTheWire(const EngineUpdate& update, wire::EngineReading& message) {
  message.ParseFromString(EncodeEngine(7, update).SerializeAsString());
  return DecodeEngine(message, {});
}

TEST(EngineWire, ReadingSurvivesARoundTrip) {
  const EngineReading reading{
      {Everything(),
       {.model = "other", .waiting = 3, .first_token_seconds = UnobservedHistogram()}}};
  wire::EngineReading message;
  const EngineUpdate back =
      AcrossTheWire({.at = kReadAt, .engine = "vllm", .reading = reading}, message);
  EXPECT_EQ(message.id(), 7u);
  EXPECT_EQ(back.at, kReadAt);
  EXPECT_EQ(back.engine, "vllm");
  ASSERT_TRUE(back.reading.ok()) << back.reading.status();
  EXPECT_EQ(*back.reading, reading);
}

TEST(EngineWire, FailureSurvivesWithItsReason) {
  wire::EngineReading message;
  const EngineUpdate back = AcrossTheWire(
      {.at = kReadAt, .engine = "", .reading = absl::UnavailableError("refused")}, message);
  EXPECT_EQ(back.reading.status(), absl::UnavailableError("refused"));
  EXPECT_FALSE(
      AcrossTheWire({.at = kReadAt, .reading = absl::Status(absl::StatusCode::kInternal, "")},
                    message)
          .reading.ok())
      << "also a failure without a text";
}

TEST(EngineWire, EngineWithoutModelsIsNotAFailure) {
  wire::EngineReading message;
  const EngineUpdate back =
      AcrossTheWire({.at = kReadAt, .engine = "ollama", .reading = EngineReading()}, message);
  ASSERT_TRUE(back.reading.ok());
  EXPECT_TRUE(back.reading->models.empty());
}

TEST(EngineWire, ImplausibleValuesStayMarked) {
  ModelReading odd;
  odd.running = std::nan("");
  odd.first_token_seconds = Histogram();
  wire::EngineReading message;
  const EngineUpdate back =
      AcrossTheWire({.at = kReadAt, .reading = EngineReading{{odd}}}, message);
  ASSERT_EQ(back.reading->models.size(), 1u);
  const ModelReading& model = back.reading->models.front();
  EXPECT_TRUE(model.running.has_value() && std::isnan(*model.running));
  EXPECT_FALSE(model.waiting.has_value());
  ASSERT_TRUE(model.first_token_seconds.has_value());
  EXPECT_TRUE(model.first_token_seconds->buckets.empty());
  EXPECT_FALSE(model.output_token_seconds.has_value());
}

std::shared_ptr<SignalSeries> Record() {
  auto record = std::make_shared<SignalSeries>();
  record->name = "vllm at 10.0.0.1:8000";
  record->namespace_name = "team-a";
  record->pod = "llm-0";
  record->address = "10.0.0.1";
  record->port = 8000;
  record->engine = "vllm";
  record->models = "llama";
  record->gpu_model = "H100";
  record->first_read_at = kReadAt;
  record->pod_with_owners =
      std::make_shared<const Pod>(Pod{.namespace_name = "team-a",
                                      .name = "llm-0",
                                      .owners = {{.kind = "Deployment", .name = "llm"}},
                                      .owners_from = Pod::OwnersFrom::kReferences});
  record->demand = std::make_shared<const EngineDemand>(
      EngineDemand{.first_at = absl::InfinitePast(),
                   .newest_at = kReadAt,
                   .bins = {{.begin = kReadAt - kDemandBin, .answers = 200, .answer_tokens = 5e4}},
                   .service = {.seconds = 1,
                               .tokens = 2,
                               .running_tokens = 3,
                               .running_squared_tokens = 4,
                               .running_seconds = 5,
                               .running_squared_seconds = 6,
                               .kv_seconds = 7,
                               .kv_running_seconds = 8,
                               .largest_batch = 9}});
  record->batch = std::make_shared<const EngineBatch>(EngineBatch{
      .reported_limit = 128, .learnt_limit = 64, .learnt_at = kReadAt - absl::Minutes(5)});
  return record;
}

wire::LeftEngine LeftMessage() {
  wire::LeftEngine message;
  EncodeLeft(*Record(), message);
  return message;
}

void ExpectEqual(const SignalSeries& got, const SignalSeries& want) {
  EXPECT_EQ(got.models, want.models);
  EXPECT_EQ(got.gpu_model, want.gpu_model);
  EXPECT_EQ(*got.demand, *want.demand);
  EXPECT_EQ(*got.batch, *want.batch);
}

TEST(EngineWire, EngineThatLeftSurvivesARoundTrip) {
  const wire::LeftEngine message = LeftMessage();
  const auto back = DecodeLeft(message, {});
  ASSERT_NE(back, nullptr);
  const auto record = Record();
  ExpectEqual(*back, *record);
  EXPECT_EQ(back->name, record->name);
  EXPECT_EQ(back->namespace_name, record->namespace_name);
  EXPECT_EQ(back->pod, record->pod);
  EXPECT_EQ(back->address, record->address);
  EXPECT_EQ(*back->pod_with_owners, *record->pod_with_owners);
  EXPECT_LT(message.ByteSizeLong(), 250u);
}

TEST(EngineWire, CapacityRecordSurvivesWithItsReading) {
  const EngineReading reading{{{.model = "llama", .running = 3}}};
  wire::EngineReading message;
  const EngineUpdate update{
      .at = kReadAt, .engine = "vllm", .reading = reading, .capacity_record = Record()};
  const EngineUpdate back = AcrossTheWire(update, message);
  ASSERT_NE(back.capacity_record, nullptr);
  ExpectEqual(*back.capacity_record, *update.capacity_record);
  message.clear_learnt();
  EXPECT_EQ(DecodeEngine(message, {}).capacity_record, nullptr)
      << "of an agent of an earlier version";
  EXPECT_EQ(*DecodeEngine(message, {}).reading, reading);
}

TEST(EngineWire, TimesOfAnEngineThatLeftUseTheReadersClock) {
  const absl::Duration offset = absl::Hours(-3);
  const auto back = DecodeLeft(LeftMessage(), {.offset = offset});
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->demand->newest_at, kReadAt + offset);
  EXPECT_EQ(back->demand->bins.front().begin, kReadAt - kDemandBin + offset);
  EXPECT_EQ(back->batch->learnt_at, kReadAt - absl::Minutes(5) + offset);
  EXPECT_EQ(DecodeLeft(LeftMessage(), {.latest = kReadAt - absl::Hours(1)})->demand->newest_at,
            kReadAt - absl::Hours(1))
      << "nothing is later than its message";
}

TEST(EngineWire, ImplausibleRecordsAreRejected) {
  for (const double bad : {-1.0, 1e300, kInfinity, std::nan("")}) {
    for (const int sum : {0, 8}) {
      wire::LeftEngine message = LeftMessage();
      message.mutable_learnt()->set_service(sum, bad);
      EXPECT_EQ(DecodeLeft(message, {}), nullptr) << sum << " " << bad;
    }
    wire::LeftEngine message = LeftMessage();
    message.mutable_learnt()->set_answers(bad);
    EXPECT_EQ(DecodeLeft(message, {}), nullptr) << bad;
    message = LeftMessage();
    message.mutable_learnt()->set_learnt_limit(bad);
    EXPECT_EQ(DecodeLeft(message, {}), nullptr) << bad;
  }
  wire::LeftEngine message = LeftMessage();
  message.mutable_learnt()->mutable_service()->RemoveLast();
  EXPECT_EQ(DecodeLeft(message, {}), nullptr) << "a sum is missing";
  message = LeftMessage();
  message.mutable_learnt()->add_service(3);
  EXPECT_NE(DecodeLeft(message, {}), nullptr) << "a newer agent sends one more";
}

TEST(EngineWire, ImplausibleNumbersAreRejected) {
  for (const double bad : {-1.0, 1e300, kInfinity, -kInfinity}) {
    wire::EngineReading message;
    message.add_models()->set_running(bad);
    message.mutable_models(0)->set_kv_cache_usage_ratio(bad);
    const EngineUpdate update = DecodeEngine(message, {});
    EXPECT_TRUE(std::isnan(*update.reading->models.front().running)) << bad;
    EXPECT_TRUE(std::isnan(*update.reading->models.front().kv_cache_usage_ratio)) << bad;
  }
  wire::EngineReading message;
  message.add_models()->set_kv_cache_usage_ratio(1.01);
  EXPECT_TRUE(std::isnan(*DecodeEngine(message, {}).reading->models.front().kv_cache_usage_ratio));
}

TEST(EngineWire, InvalidHistogramsAreRejected) {
  struct {
    const char* what;
    std::vector<double> bounds;
    std::vector<double> counts;
  } const cases[] = {
      {"empty", {}, {}},
      {"a count less", {1, kInfinity}, {1}},
      {"no infinite bound", {1, 2}, {1, 2}},
      {"bounds fall", {2, 1, kInfinity}, {1, 2, 3}},
      {"a bound is NaN", {std::nan(""), kInfinity}, {1, 2}},
      {"a bound is -infinity", {-kInfinity, kInfinity}, {1, 2}},
      {"a bound in between is NaN", {1, std::nan(""), kInfinity}, {1, 2, 3}},
      {"counts fall", {1, kInfinity}, {2, 1}},
      {"a count is NaN", {1, kInfinity}, {std::nan(""), 1}},
      {"a count is negative", {1, kInfinity}, {-1, 1}},
  };
  for (const auto& each : cases) {
    wire::EngineReading message;
    wire::HistogramCounts& counts = *message.add_models()->mutable_first_token_seconds();
    counts.mutable_not_above()->Add(each.bounds.begin(), each.bounds.end());
    counts.mutable_count()->Add(each.counts.begin(), each.counts.end());
    const EngineUpdate update = DecodeEngine(message, {});
    EXPECT_TRUE(update.reading->models.front().first_token_seconds->buckets.empty()) << each.what;
  }
}

TEST(EngineWire, NoTimeIsLaterThanItsMessage) {
  wire::EngineReading message;
  message.set_taken_us(ToWire(kReadAt + absl::Hours(1)));
  EXPECT_EQ(DecodeEngine(message, {.latest = kReadAt}).at, kReadAt);
}

TEST(EngineWire, SubscriptionSurvivesARoundTrip) {
  EngineSubscription wanted = SubscribedIn("team-a", absl::Seconds(330), true);
  wanted.namespaces["team-b"] = {.look_back = absl::Seconds(45)};
  EXPECT_EQ(DecodeSubscription(EncodeSubscription(wanted, absl::Seconds(90))), wanted);
}

TEST(EngineWire, ReadingOfOneModelIsSmall) {
  ModelReading usual = Everything();
  usual.first_token_seconds.reset();
  usual.output_token_seconds.reset();
  const wire::EngineReading reading =
      EncodeEngine(7, {.at = kReadAt, .engine = "vllm", .reading = EngineReading{{usual}}});
  EXPECT_LT(reading.ByteSizeLong(), 150u);
}

}  // namespace
}  // namespace gpuscaler
