#include "web/web_api.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "scaling/decision.h"
#include "web/test_web_sources.h"
#include "web/what_if.h"

namespace gpuscaler {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class WebApiTest : public testing::Test {
 protected:
  // Records a point of shop/llm for each step up to now, with a rising value.
  void Record(int steps) {
    for (int step = 0; step < steps; ++step) {
      HistoryPoint point{.at = clock_.Now(), .code = absl::StatusCode::kOk};
      point.value = 10 * step;
      point.target = 60;
      point.replicas = 1 + step / 4;
      point.active = 1;
      point.gpus = *point.replicas;
      history_.Record(kKey, point);
      clock_.Advance(kHistoryStep);
    }
  }

  void RecordExplanation(const std::string& text) {
    gpuscaler::v1::Explanation explanation;
    explanation.set_text(text);
    explanation.set_active_because(text);  // a text alone may differ by ages only
    history_.RecordExplanation(kKey, clock_.Now(), explanation);
  }

  WebApi& Api() {
    if (api_ == nullptr) {
      api_ = std::make_unique<WebApi>(
          WebInstance{.name = "scaler-0",
                      .version = "0.1.0",
                      .commit = "abc",
                      .role = "aggregator",
                      .started_at = started_at_},
          clock_, fleets_,
          StalenessLimits{.stale_after = absl::Hours(48), .grace = absl::Hours(48)},
          WebSources{.workloads = workloads_.Source(),
                     .history = has_history_ ? &history_ : nullptr,
                     .cost = cost_});
    }
    return *api_;
  }

  WebReply Get(const std::string& target) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(target, absl::MaxSplits('?', 1));
    WebRequest request{.path = parts.first, .query = {}};
    for (const auto& pair : absl::StrSplit(parts.second, '&', absl::SkipEmpty())) {
      request.query.insert(absl::StrSplit(pair, absl::MaxSplits('=', 1)));
    }
    return Api().Reply(request);
  }

  json MustGet(const std::string& target) {
    const WebReply reply = Get(target);
    EXPECT_EQ(reply.status, 200) << target << ": " << *reply.body;
    EXPECT_EQ(reply.content_type, "application/json");
    json parsed = json::parse(*reply.body, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << target << ": " << *reply.body;
    return parsed;
  }

  // Returns the status, and checks that the error has a text.
  int ErrorOf(const std::string& target) {
    const WebReply reply = Get(target);
    json parsed = json::parse(*reply.body, nullptr, false);
    EXPECT_TRUE(parsed.is_object() && parsed.value("error", "") != "") << *reply.body;
    return reply.status;
  }

  static constexpr char kLlm[] = "/api/v1/workloads/shop/llm";
  const TriggerKey kKey = {"shop", "llm", "keda_gpu_metric"};

  FakeClock clock_;
  const absl::Time started_at_ = clock_.Now();
  TestFleetReader fleets_;
  TestWorkloads workloads_;
  TriggerHistory history_{{}, clock_.Now()};
  bool has_history_ = true;
  WebCost cost_;
  std::unique_ptr<WebApi> api_;
};

TEST_F(WebApiTest, StatusDescribesTheProcessAndTheFleet) {
  FleetHistory fleet;
  fleet.nodes.push_back(StateWith(SnapshotOf(8, clock_.Now(), "gpu-1")));
  fleets_.Set(std::move(fleet));
  clock_.Advance(absl::Seconds(5));
  EXPECT_EQ(MustGet("/api/v1/status"),
            json({{"instance", "scaler-0"},
                  {"version", "0.1.0"},
                  {"commit", "abc"},
                  {"role", "aggregator"},
                  {"started_at", 1'767'225'600},
                  {"now", 1'767'225'605},
                  {"history",
                   {{"enabled", true},
                    {"step_seconds", 15},
                    {"keep_seconds", 86'400},
                    {"since", 1'767'225'600}}},
                  {"fleet", {{"nodes", 1}, {"gpus", 8}, {"partial", ""}}},
                  {"cost", false}}));
}

TEST_F(WebApiTest, StatusOfAnUnknownFleetHasTheReason) {
  has_history_ = false;
  const json status = MustGet("/api/v1/status");
  EXPECT_EQ(
      status["fleet"],
      json({{"nodes", nullptr}, {"gpus", nullptr}, {"partial", "no agent has reported yet"}}));
  EXPECT_EQ(status["history"]["enabled"], false);
  EXPECT_EQ(status["history"]["since"], nullptr);
}

TEST_F(WebApiTest, UnknownFleetIsUnavailable) {
  EXPECT_EQ(ErrorOf("/api/v1/fleet"), 503);
  EXPECT_EQ(ErrorOf("/api/v1/fleet/gpu-1"), 503);
}

TEST_F(WebApiTest, FleetAndStatusAreRenderedOnceForAllRequestsOfASecond) {
  fleets_.Set(FleetHistory());
  for (const char* path : {"/api/v1/fleet", "/api/v1/status"}) {
    const WebReply first = Get(path);
    const int reads = fleets_.reads();
    EXPECT_EQ(Get(path).body, first.body) << path;
    EXPECT_EQ(fleets_.reads(), reads) << path;
    EXPECT_NE(first.gzip, nullptr) << path;
  }
}

TEST_F(WebApiTest, WorkloadsHaveASparkOnlyWithAHistory) {
  workloads_.Add("shop", "llm").decision.value = 70;
  Record(2);
  const json with = MustGet("/api/v1/workloads");
  EXPECT_EQ(with["instance"], "scaler-0");
  ASSERT_EQ(with["workloads"].size(), 1u);
  EXPECT_EQ(with["workloads"][0]["value"], 70);
  EXPECT_EQ(with["workloads"][0]["spark"].size(), 60u);
  api_ = nullptr;
  has_history_ = false;
  EXPECT_FALSE(MustGet("/api/v1/workloads")["workloads"][0].contains("spark"));
}

TEST_F(WebApiTest, TriggersOfAScaledObject) {
  workloads_.Add("shop", "llm");
  workloads_.Add("shop", "other");
  EXPECT_EQ(MustGet(kLlm)["triggers"].size(), 1u);
  EXPECT_EQ(ErrorOf("/api/v1/workloads/shop/none"), 404);
  EXPECT_EQ(ErrorOf("/api/v1/workloads/none/llm"), 404);
}

TEST_F(WebApiTest, HistoryHasArraysOfOneLength) {
  Record(7);
  RecordExplanation("first");
  Record(1);
  const json history = MustGet(absl::StrCat(kLlm, "/history?trigger=keda_gpu_metric"));
  EXPECT_EQ(history["namespace"], "shop");
  EXPECT_EQ(history["name"], "llm");
  EXPECT_EQ(history["trigger"], "keda_gpu_metric");
  EXPECT_EQ(history["instance"], "scaler-0");
  EXPECT_EQ(history["step_seconds"], 15);
  EXPECT_EQ(history["since"], 1'767'225'600);
  const size_t points = history["points"].size();
  for (const char* column : {"value", "target", "replicas", "starting", "unreadable", "terminating",
                             "active", "limit", "capacity", "demand"}) {
    EXPECT_EQ(history[column].size(), points) << column;
  }
  size_t first = 0;
  while (history["points"][first] != 1'767'225'600) ++first;
  EXPECT_EQ(history["value"][first + 3], 30);
  EXPECT_EQ(history["active"][first + 3], 1);
  EXPECT_EQ(history["starting"][first + 3], nullptr);
  EXPECT_EQ(history["value"][first - 1], nullptr);
  EXPECT_EQ(history["gaps"][0]["because"], "scaler started");
  EXPECT_EQ(history["marks"][0]["kind"], "scale");
  EXPECT_EQ(history["explanations"], json({1'767'225'705}));
}

TEST_F(WebApiTest, OnlyTriggerNeedsNoNameAndSeveralDo) {
  Record(1);
  EXPECT_EQ(MustGet(absl::StrCat(kLlm, "/history"))["trigger"], "keda_gpu_metric");
  history_.Record({"shop", "llm", "queue"},
                  {.at = clock_.Now(), .code = absl::StatusCode::kOk, .value = 1});
  const WebReply several = Get(absl::StrCat(kLlm, "/history"));
  EXPECT_EQ(several.status, 400);
  EXPECT_THAT(*several.body, HasSubstr("trigger=keda_gpu_metric or trigger=queue"));
  EXPECT_EQ(ErrorOf("/api/v1/workloads/shop/none/history"), 404);
  EXPECT_EQ(ErrorOf(absl::StrCat(kLlm, "/history?trigger=none")), 404);
}

TEST_F(WebApiTest, LongRangesAreThinned) {
  Record(1);
  const absl::Time end = clock_.Now() + absl::Hours(23);
  clock_.Advance(absl::Hours(23));
  history_.Record(kKey, {.at = end, .code = absl::StatusCode::kOk, .value = 1});
  const json history =
      MustGet(absl::StrCat(kLlm, "/history?from=", absl::ToUnixSeconds(started_at_)));
  EXPECT_LE(history["points"].size(), 2'000u);
  EXPECT_EQ(history["step_seconds"], 45);
  EXPECT_EQ(history["points"][1].get<int64_t>() - history["points"][0].get<int64_t>(), 45);
}

TEST_F(WebApiTest, RangesAreChecked) {
  Record(1);
  EXPECT_EQ(ErrorOf(absl::StrCat(kLlm, "/history?from=x")), 400);
  EXPECT_EQ(ErrorOf(absl::StrCat(kLlm, "/history?from=9&to=8")), 400);
  EXPECT_EQ(ErrorOf(absl::StrCat(kLlm, "/history?from=0&to=1")), 410);
  EXPECT_EQ(Get(absl::StrCat(kLlm, "/history?from=0")).status, 200) << "what is kept";
}

TEST_F(WebApiTest, WithoutHistoryThePastIsNotFound) {
  has_history_ = false;
  workloads_.Add("shop", "llm");
  for (const char* what : {"/history", "/what-if", "/explanation?at=1"}) {
    const WebReply reply = Get(absl::StrCat(kLlm, what));
    EXPECT_EQ(reply.status, 404) << what;
    EXPECT_THAT(*reply.body, HasSubstr("--history")) << what;
  }
}

TEST_F(WebApiTest, ExplanationOfNowIsTheTextOfTheQuery) {
  auto& llm = workloads_.Add("shop", "llm");
  llm.decision.value = 70;
  llm.decision.replicas = 1;
  llm.decision.active = true;
  llm.decision.taken_at = clock_.Now();
  llm.decision.contributions = {
      {.name = "llm-0\n::error::x", .gpus = {"GPU-a"}, .nodes = {"gpu-1"}, .load = 70}};
  llm.decision.notes = {"a note"};
  const json why = MustGet(absl::StrCat(kLlm, "/explanation"));
  EXPECT_EQ(why["at"], 1'767'225'600);
  EXPECT_EQ(why["text"], gpuscaler::Explain(*llm.live.parsed->trigger, llm.decision));
  EXPECT_EQ(why["value"], 70);
  EXPECT_EQ(why["active"], true);
  EXPECT_EQ(why["notes"], json({"a note"}));
  const json& share = why["shares"][0];
  EXPECT_EQ(share["gpus"], json({"GPU-a"}));
  EXPECT_EQ(share["nodes"], json({"gpu-1"}));
  EXPECT_EQ(share["state"], "counted");
  EXPECT_EQ(share["load"], 70);
}

TEST_F(WebApiTest, ExplanationOfAnErrorHasNoValue) {
  workloads_.Add("shop", "llm").status = absl::UnavailableError("no GPU snapshot yet");
  const json why = MustGet(absl::StrCat(kLlm, "/explanation"));
  EXPECT_EQ(why["code"], 14);
  EXPECT_EQ(why["value"], nullptr);
  EXPECT_THAT(why["text"].get<std::string>(), HasSubstr("no GPU snapshot yet"));
}

TEST_F(WebApiTest, PastExplanationIsTheNewestBeforeTheInstant) {
  Record(1);
  const int64_t first = absl::ToUnixSeconds(clock_.Now());
  RecordExplanation("first");
  Record(4);
  RecordExplanation("second");
  const json why = MustGet(absl::StrCat(kLlm, "/explanation?at=", first + 30));
  EXPECT_EQ(why["at"], first);
  EXPECT_EQ(why["text"], "first\n");
  EXPECT_EQ(MustGet(absl::StrCat(kLlm, "/explanation?at=", first + 600))["text"], "second\n");
  EXPECT_EQ(ErrorOf(absl::StrCat(kLlm, "/explanation?at=", first - 60)), 404);
  EXPECT_EQ(ErrorOf(absl::StrCat(kLlm, "/explanation")), 404) << "it is not requested now";
}

TEST_F(WebApiTest, WhatIfIsTheReplayOfTheRecord) {
  Record(40);
  const json what_if = MustGet(
      absl::StrCat(kLlm, "/what-if?target=100&min=1&max=3&scale_down_window=60&pods_per_minute=2"));
  const absl::Time recorded_until = clock_.Now() - kHistoryStep;
  const auto series = history_.Read(kKey, clock_.Now() - absl::Hours(1), recorded_until);
  ASSERT_TRUE(series.ok()) << series.status();
  const WhatIf want = Replay(series->points, {.target = 100,
                                              .min_replicas = 1,
                                              .max_replicas = 3,
                                              .scale_down_window = absl::Minutes(1),
                                              .pods_per_minute = 2});
  ASSERT_EQ(what_if["would"]["replicas"].size(), want.would.replicas.size());
  for (size_t i = 0; i < want.would.replicas.size(); ++i) {
    const auto& replicas = want.would.replicas[i];
    EXPECT_EQ(what_if["would"]["replicas"][i], replicas ? json(*replicas) : json(nullptr)) << i;
  }
  EXPECT_NEAR(what_if["would"]["gpu_hours"].get<double>(), *want.would.gpu_hours, 0.001);
  EXPECT_EQ(what_if["would"]["seconds_above_target"], *want.would.seconds_above_target);
  EXPECT_EQ(what_if["changes"]["would"], *want.would.direction_changes);
  EXPECT_EQ(what_if["points"].size(), what_if["happened"]["replicas"].size());
  EXPECT_EQ(what_if["gpus_per_replica"], 1);
  EXPECT_THAT(what_if["note"].get<std::string>(), HasSubstr("The load is taken as it was"));
}

TEST_F(WebApiTest, GapOfOneStepLastsOneStep) {
  Record(2);
  clock_.Advance(kHistoryStep);
  Record(2);
  const json gaps = MustGet(absl::StrCat(kLlm, "/history?from=", 1'767'225'600))["gaps"];
  ASSERT_FALSE(gaps.empty());
  EXPECT_EQ(gaps[0],
            json({{"from", 1'767'225'630}, {"to", 1'767'225'645}, {"because", "not requested"}}));
}

TEST_F(WebApiTest, PresentStepIsLeftOutUntilItIsRecorded) {
  Record(4);  // the clock is at the begin of the fifth step
  const std::string path = absl::StrCat(kLlm, "/history?from=", 1'767'225'600);
  const auto expect_four_points = [&] {
    const json history = MustGet(path);
    EXPECT_EQ(history["points"].size(), 4u);
    EXPECT_EQ(history["to"], 1'767'225'645);
    EXPECT_EQ(history["value"].back(), 30);
    EXPECT_EQ(history["gaps"], json::array());
    EXPECT_EQ(history["marks"], json::array());
  };
  expect_four_points();
  clock_.Advance(absl::Seconds(14));
  expect_four_points();
  EXPECT_EQ(MustGet(absl::StrCat(kLlm, "/what-if?from=", 1'767'225'600))["points"].size(), 4u);
  clock_.Advance(absl::Seconds(1));  // now the fifth step is over
  const json history = MustGet(path);
  EXPECT_EQ(history["points"].size(), 5u);
  EXPECT_EQ(history["gaps"].size(), 1u);
  EXPECT_EQ(history["marks"].back()["kind"], "gap");
}

TEST_F(WebApiTest, HistoryHasTheTargetType) {
  Record(4);
  const std::string path = absl::StrCat(kLlm, "/history?trigger=keda_gpu_metric");
  EXPECT_EQ(MustGet(path)["target_type"], "AverageValue");
  gpuscaler::v1::Explanation explanation;
  explanation.set_target_type("Value");
  history_.RecordExplanation(kKey, clock_.Now(), explanation);
  EXPECT_EQ(MustGet(path)["target_type"], "Value") << "as it was when it was last explained";
  workloads_.Add("shop", "llm");
  EXPECT_EQ(MustGet(path)["target_type"], "AverageValue") << "as it is requested now";
  workloads_.Clear();
  workloads_.Add("shop", "llm", {{"targetType", "Value"}});
  EXPECT_EQ(MustGet(path)["target_type"], "Value");
}

TEST_F(WebApiTest, WhatIfOfATriggerOfThePastHasItsTargetType) {
  Record(4);
  EXPECT_EQ(MustGet(absl::StrCat(kLlm, "/what-if"))["note"], WhatIfNote(TargetType::kAverageValue));
  gpuscaler::v1::Explanation explanation;
  explanation.set_target_type("Value");
  history_.RecordExplanation(kKey, clock_.Now(), explanation);
  EXPECT_EQ(MustGet(absl::StrCat(kLlm, "/what-if"))["note"], WhatIfNote(TargetType::kValue));
}

TEST_F(WebApiTest, WhatIfOfAQueueHasNoReplicasThatHappened) {
  history_.Record(
      kKey,
      {.at = clock_.Now(), .code = absl::StatusCode::kOk, .value = 160, .target = 80, .active = 1});
  clock_.Advance(kHistoryStep);
  const json what_if = MustGet(absl::StrCat(kLlm, "/what-if?from=", 1'767'225'600));
  EXPECT_EQ(what_if["happened"]["replicas"], json::array({nullptr}));
  EXPECT_EQ(what_if["happened"]["gpu_hours"], nullptr);
  EXPECT_EQ(what_if["changes"]["happened"], nullptr);
  EXPECT_EQ(what_if["would"]["replicas"], json::array({1}));
  EXPECT_EQ(what_if["note"], WhatIfNote(TargetType::kAverageValue, true));
}

TEST_F(WebApiTest, WhatIfRefusesImpossibleOptions) {
  Record(1);
  for (const char* query : {"target=0", "target=x", "min=-1", "max=0", "min=1.5", "min=5&max=4",
                            "scale_down_window=1e9", "pods_per_minute=0", "max=1e9"}) {
    EXPECT_EQ(ErrorOf(absl::StrCat(kLlm, "/what-if?", query)), 400) << query;
  }
}

TEST_F(WebApiTest, CostHasTheRowsOfTheReport) {
  cost_.has_prices = true;
  cost_.currency = "USD";
  cost_.report = [this](int hours, GroupBy by) {
    EXPECT_EQ(hours, 2);
    EXPECT_EQ(by, GroupBy::kWorkload);
    CostReport report{.from = clock_.Now() - absl::Hours(2), .to = clock_.Now(), .by = by};
    CostRow row{.key = "shop/llm", .labels = {.namespace_name = "shop", .workload = "llm"}};
    row.times[GpuState::kBusy] = int64_t{5'400'000'000};
    row.times[GpuState::kIdle] = int64_t{900'000'000};
    row.cost = Money(HourlyPrice{.micro_units = 2'000'000}, row.times.Total());
    row.idle_cost = Money(HourlyPrice{.micro_units = 2'000'000}, row.times[GpuState::kIdle]);
    report.rows.push_back(row);
    report.total = row;
    report.rows.push_back({.key = "shop/embed", .labels = {.namespace_name = "shop"}});
    report.unpriced_models = {"L4"};
    return report;
  };
  const json cost = MustGet("/api/v1/cost?by=workload&hours=2");
  EXPECT_EQ(cost["by"], "workload");
  EXPECT_EQ(cost["currency"], "USD");
  EXPECT_EQ(cost["priced"], true);
  EXPECT_EQ(cost["to"].get<int64_t>() - cost["from"].get<int64_t>(), 7'200);
  EXPECT_EQ(
      cost["rows"][0],
      json({{"key", "shop/llm"},
            {"namespace", "shop"},
            {"workload", "llm"},
            {"gpu_hours",
             {{"busy", 1.5}, {"idle", 0.25}, {"starting", 0.0}, {"free", 0.0}, {"unknown", 0.0}}},
            {"total", 1.75},
            {"cost", 3.5},
            {"idle_cost", 0.5}}));
  EXPECT_EQ(cost["rows"][1]["idle_cost"], nullptr) << "without a price";
  EXPECT_EQ(cost["total"]["total"], 1.75);
  EXPECT_EQ(cost["total"]["idle_cost"], 0.5);
  EXPECT_THAT(cost["note"].get<std::string>(), HasSubstr("L4"));
  EXPECT_EQ(ErrorOf("/api/v1/cost?by=pod"), 400);
  EXPECT_EQ(ErrorOf("/api/v1/cost?hours=25"), 400);
}

TEST_F(WebApiTest, CostWithoutPricesNamesTheFlag) {
  cost_.report = [this](int, GroupBy by) {
    return CostReport{.from = clock_.Now() - absl::Hours(2), .to = clock_.Now(), .by = by};
  };
  const json cost = MustGet("/api/v1/cost");
  EXPECT_EQ(cost["priced"], false);
  EXPECT_THAT(cost["note"].get<std::string>(), HasSubstr("serve --prices"));
}

TEST_F(WebApiTest, CostThatIsNotCountedIsNotFound) { EXPECT_EQ(ErrorOf("/api/v1/cost"), 404); }

TEST_F(WebApiTest, UnknownPathsAreNotFound) {
  for (const char* path :
       {"/api", "/api/v1", "/api/v1/", "/api/v2/status", "/api/v1/none", "/api/v1/workloads/",
        "/api/v1/workloads/shop", "/api/v1/workloads/shop/llm/none",
        "/api/v1/workloads/a/b/history/c", "/api/v1/fleet/a/b", "/metrics", "/../etc/passwd"}) {
    EXPECT_EQ(ErrorOf(path), 404) << path;
  }
}

TEST_F(WebApiTest, EventsHaveTheRowsAndTheFleet) {
  fleets_.Set(FleetHistory{.generation = 7});
  workloads_.Add("shop", "llm");
  const EventBatch batch = Api().NextEvents(0);
  ASSERT_NE(batch.text, nullptr);
  EXPECT_THAT(*batch.text, HasSubstr("event: workloads\ndata: {"));
  EXPECT_THAT(*batch.text, HasSubstr("\"name\":\"llm\""));
  EXPECT_THAT(*batch.text, HasSubstr("event: fleet\ndata: {"));
  EXPECT_THAT(*batch.text, HasSubstr("\"version\":1,\"nodes\":0"));
  EXPECT_EQ(Api().NextEvents(batch.version).text, nullptr);
}

}  // namespace
}  // namespace gpuscaler
