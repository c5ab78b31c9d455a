#include "engine/engine_exposition.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr NumberMapping kRows[] = {
    {.name = "w_new", .into = &ModelReading::waiting},
    {.name = "w_old", .into = &ModelReading::waiting, .choice = 1},
    {.name = "run", .into = &ModelReading::running, .label = "kind", .value = "active"},
    {.name = "run_too", .into = &ModelReading::running},
    {.name = "kv", .into = &ModelReading::kv_cache_usage_ratio},
    {.name = "done", .into = &ModelReading::requests_done},
    {.name = "queue_us", .into = &ModelReading::queue_seconds, .unit = 1e-6},
};
constexpr HistogramMapping kHistograms[] = {
    {.name = "ttft", .into = &ModelReading::first_token_seconds},
    {.name = "ttft_ms", .into = &ModelReading::first_token_seconds, .choice = 1, .unit = 1e-3},
};
constexpr EngineExposition kPage = {
    .model_label = "model", .numbers = kRows, .histograms = kHistograms};

absl::StatusOr<EngineReading> ReadRows(absl::string_view page) {
  return ReadEngineExposition(kPage, page, {.histograms = true});
}

ModelReading TotalOf(absl::string_view page, absl::string_view model = "") {
  const auto reading = ReadRows(page);
  EXPECT_TRUE(reading.ok()) << reading.status() << "\n" << page;
  return reading.ok() ? ReadingOf(*reading, model).value_or(ModelReading()) : ModelReading();
}

TEST(EngineExposition, SeriesAreAddedAndTheFullestCacheCounts) {
  const ModelReading total = TotalOf(
      "w_new{rank=\"0\"} 3\nw_new{rank=\"1\"} 4\n"
      "kv{rank=\"0\"} 0.25\nkv{rank=\"1\"} 0.75\nkv{rank=\"2\"} 0.5\n");
  EXPECT_THAT(total.waiting, Optional(7));
  EXPECT_THAT(total.kv_cache_usage_ratio, Optional(0.75));
  EXPECT_EQ(total.running, std::nullopt) << "not on the page: unknown, not 0";
}

TEST(EngineExposition, ReadsOneModelOrTheSum) {
  constexpr absl::string_view kTwo =
      "w_new{model=\"a\"} 3\nw_new{model=\"b\"} 4\nkv{model=\"a\"} 0.9\nkv{model=\"b\"} 0.1\n"
      "done{model=\"b\"} 8\n";
  EXPECT_THAT(TotalOf(kTwo).waiting, Optional(7));
  EXPECT_THAT(TotalOf(kTwo).kv_cache_usage_ratio, Optional(0.9));
  EXPECT_THAT(TotalOf(kTwo).requests_done, Optional(8)) << "a lacks the metric";
  EXPECT_THAT(TotalOf(kTwo, "b").waiting, Optional(4));
  EXPECT_THAT(TotalOf(kTwo, "b").kv_cache_usage_ratio, Optional(0.1));
  EXPECT_EQ(TotalOf(kTwo, "a").requests_done, std::nullopt);
  EXPECT_EQ(ReadingOf(*ReadRows(kTwo), "c"), std::nullopt);
}

TEST(EngineExposition, ModelNameIsUnescaped) {
  EXPECT_THAT(TotalOf("w_new{model=\"x \\\"hi\\\"\"} 3\n", "x \"hi\"").waiting, Optional(3));
}

TEST(EngineExposition, LowestChoiceCounts) {
  EXPECT_THAT(TotalOf("w_old 5\n").waiting, Optional(5));
  EXPECT_THAT(TotalOf("w_old 5\nw_new 3\n").waiting, Optional(3));
  const ModelReading models = TotalOf("w_old{model=\"a\"} 5\nw_new{model=\"b\"} 3\n");
  EXPECT_THAT(models.waiting, Optional(8)) << "chosen for each model by itself";
  EXPECT_THAT(TotalOf("run{kind=\"active\"} 2\nrun_too 3\n").running, Optional(5))
      << "equal choices";
}

TEST(EngineExposition, OnlySeriesWithTheRowsLabelCount) {
  EXPECT_THAT(TotalOf("run{kind=\"max\"} 64\nrun{kind=\"active\"} 2\n").running, Optional(2));
  EXPECT_EQ(TotalOf("run{kind=\"max\"} 64\n").running, std::nullopt);
}

constexpr absl::string_view kLateMarks[] = {"late:"};
constexpr NumberMapping kLateRows[] = {
    {.name = "late:wait", .into = &ModelReading::waiting, .zero_before = "late:came"},
    {.name = "late:done", .into = &ModelReading::requests_done, .zero_before = "late:done"},
    {.name = "late:run", .into = &ModelReading::running},
};
constexpr HistogramMapping kLateHistograms[] = {
    {.name = "late:ttft", .into = &ModelReading::first_token_seconds, .zero_before = "late:done"},
};
constexpr EngineExposition kLatePage = {.marks = kLateMarks,
                                        .may_be_empty = true,
                                        .model_label = "model",
                                        .numbers = kLateRows,
                                        .histograms = kLateHistograms};

TEST(EngineExposition, MetricExportedWithItsFirstValueIsZeroBefore) {
  const struct {
    const char* name;
    const char* page;
    std::optional<double> waiting;
    std::optional<double> done;
    double latencies;  // -1: unknown
  } rows[] = {
      {"nothing yet", "", 0, 0, 0},
      {"a constant alone", "late:size{model=\"m\"} 4\n", 0, 0, 0},
      {"the first has come", "late:came{model=\"m\"} 1\n", {}, 0, 0},
      {"and waits", "late:came{model=\"m\"} 1\nlate:wait{model=\"m\"} 1\n", 1, 0, 0},
      {"and is done, without the rest", "late:came 1\nlate:done_total 1\n", {}, 1, -1},
  };
  for (const auto& row : rows) {
    const auto page = ReadEngineExposition(kLatePage, row.page, {.histograms = true});
    ASSERT_TRUE(page.ok()) << row.name << ": " << page.status();
    ASSERT_EQ(page->models.size(), 1u) << row.name;
    const ModelReading reading = *ReadingOf(*page, "");
    EXPECT_EQ(reading.waiting, row.waiting) << row.name;
    EXPECT_EQ(reading.requests_done, row.done) << row.name;
    EXPECT_EQ(reading.running, std::nullopt) << row.name << ": no zero_before";
    const double counted = reading.first_token_seconds ? reading.first_token_seconds->Count() : -1;
    EXPECT_EQ(counted, row.latencies) << row.name;
  }
  EXPECT_EQ(ReadEngineExposition(kLatePage, rows[1].page, {})->models[0].model, "m");
  EXPECT_EQ(ReadEngineExposition(kLatePage, "other 1\n", {}).status().code(),
            absl::StatusCode::kNotFound)
      << "only an empty exposition may be idle";
  EXPECT_EQ(ReadRows("").status().code(), absl::StatusCode::kNotFound);
}

TEST(EngineExposition, NamesMatchFullyOrWithTotalSuffix) {
  EXPECT_THAT(TotalOf("done_total 8\n").requests_done, Optional(8));
  const auto longer = ReadRows("w_new_by_reason{reason=\"deferred\"} 9\ndone_created 1767225600\n");
  EXPECT_EQ(longer.status().code(), absl::StatusCode::kNotFound) << longer.status();
  EXPECT_THAT(longer.status().message(), HasSubstr("such as w_new"));
}

TEST(EngineExposition, InvalidValueMakesItsSumUnknown) {
  const struct {
    const char* name;
    const char* page;
  } rows[] = {
      {"not a number", "w_new NaN\n"},
      {"one of two", "w_new{rank=\"0\"} 3\nw_new{rank=\"1\"} NaN\n"},
      {"the first of two", "w_new{rank=\"0\"} NaN\nw_new{rank=\"1\"} 3\n"},
      {"infinite", "w_new +Inf\n"},
      {"infinite together", "w_new{rank=\"0\"} 1.7e308\nw_new{rank=\"1\"} 1.7e308\n"},
      {"models infinite together", "w_new{model=\"a\"} 1.7e308\nw_new{model=\"b\"} 1.7e308\n"},
      {"negative", "w_new -1\n"},
      {"with an older name that can be", "w_new NaN\nw_old 5\n"},
      {"of one model of two", "w_new{model=\"a\"} 3\nw_new{model=\"b\"} NaN\n"},
      {"more than full", "w_new NaN\nkv 37.5\n"},
      {"the other is full", "w_new NaN\nkv{rank=\"0\"} 1\nkv{rank=\"1\"} NaN\n"},
      {"the first of two models is full", "w_new NaN\nkv{model=\"a\"} 1\nkv{model=\"b\"} NaN\n"},
      {"in any order", "w_new NaN\nkv{model=\"a\"} NaN\nkv{model=\"b\"} 1\n"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(TotalOf(row.page).waiting, std::nullopt) << row.name;
    EXPECT_EQ(TotalOf(row.page).kv_cache_usage_ratio, std::nullopt) << row.name;
  }
  EXPECT_THAT(TotalOf("w_new{model=\"a\"} 3\nw_new{model=\"b\"} NaN\n", "a").waiting, Optional(3));
}

TEST(EngineExposition, UnitsAreConverted) {
  EXPECT_THAT(TotalOf("queue_us 2500000\n").queue_seconds, Optional(2.5));
  const ModelReading total =
      TotalOf("ttft_ms_bucket{le=\"250\"} 3\nttft_ms_bucket{le=\"+Inf\"} 4\n");
  ASSERT_TRUE(total.first_token_seconds.has_value());
  EXPECT_THAT(total.first_token_seconds->buckets[0].not_above, testing::DoubleEq(0.25));
}

constexpr absl::string_view kOfRanks =
    "ttft_bucket{rank=\"0\",le=\"0.1\"} 1\nttft_bucket{rank=\"0\",le=\"1\"} 2\n"
    "ttft_bucket{rank=\"0\",le=\"+Inf\"} 3\nttft_sum{rank=\"0\"} 9\nttft_count{rank=\"0\"} 3\n"
    "ttft_bucket{rank=\"1\",le=\"0.1\"} 10\nttft_bucket{rank=\"1\",le=\"1.0\"} 20\n"
    "ttft_bucket{rank=\"1\",le=\"+Inf\"} 30\n";

TEST(EngineExposition, HistogramsAreAddedPerBucket) {
  const std::string page = absl::StrCat(
      kOfRanks, "ttft_bucket{model=\"b\",le=\"0.1\"} 100\nttft_bucket{model=\"b\",le=\"1\"} 200\n",
      "ttft_bucket{model=\"b\",le=\"+Inf\"} 300\n");
  const ModelReading total = TotalOf(page);
  ASSERT_TRUE(total.first_token_seconds.has_value());
  std::vector<double> counts;
  for (const auto& bucket : total.first_token_seconds->buckets) counts.push_back(bucket.count);
  EXPECT_THAT(counts, ElementsAre(111, 222, 333));
}

TEST(EngineExposition, InvalidHistogramIsUnknown) {
  const struct {
    const char* name;
    std::string page;
  } rows[] = {
      {"ranks with other bounds", absl::StrCat(kOfRanks, "ttft_bucket{rank=\"2\",le=\"5\"} 1\n")},
      {"models with other bounds",
       absl::StrCat(kOfRanks, "ttft_bucket{model=\"b\",le=\"+Inf\"} 1\n")},
      {"no infinite bound", "ttft_bucket{le=\"0.1\"} 1\n"},
      {"a bound that is no number", "ttft_bucket{le=\"wide\"} 1\nttft_bucket{le=\"+Inf\"} 1\n"},
      {"a bound of minus infinity", "ttft_bucket{le=\"-Inf\"} 1\nttft_bucket{le=\"+Inf\"} 1\n"},
      {"only a bound of minus infinity", "ttft_bucket{le=\"-Inf\"} 1\n"},
      {"no bound", "ttft_bucket 1\nttft_bucket{le=\"+Inf\"} 1\n"},
      {"counts infinite together",
       "ttft_bucket{le=\"+Inf\"} 1.7e308\nttft_bucket{le=\"+Inf\"} 1.7e308\n"},
      {"a count that is no number", "ttft_bucket{le=\"1\"} NaN\nttft_bucket{le=\"+Inf\"} 1\n"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(TotalOf(row.page).first_token_seconds, std::nullopt) << row.name;
  }
  std::string many = "ttft_bucket{le=\"+Inf\"} 1\n";
  for (size_t i = 0; i < kMaxBuckets; ++i) {
    absl::StrAppend(&many, "ttft_bucket{le=\"", i, "\"} 1\n");
  }
  EXPECT_EQ(TotalOf(many).first_token_seconds, std::nullopt) << "too many buckets";
}

TEST(EngineExposition, HistogramsAreReadOnRequest) {
  const std::string page = absl::StrCat("w_new 1\n", kOfRanks);
  const auto reading = ReadEngineExposition(kPage, page, {.histograms = false});
  ASSERT_TRUE(reading.ok()) << reading.status();
  EXPECT_EQ(reading->models[0].first_token_seconds, std::nullopt);
  EXPECT_THAT(reading->models[0].waiting, Optional(1));
}

TEST(EngineExposition, CountersBeganAtProcessStart) {
  const ModelReading total = TotalOf("process_start_time_seconds 1767225600.25\ndone 8\n");
  EXPECT_THAT(total.counters_began, Optional(1767225600.25));
}

TEST(EngineExposition, MalformedExpositionIsAnError) {
  EXPECT_THAT(ReadRows("w_new 1\nw_new{rank=\"1\" 2\n").status().message(), HasSubstr("line 2: "));
  EXPECT_THAT(ReadRows("w_new 1\nw_new 2").status().message(), HasSubstr("cut off"));
}

TEST(EngineExposition, ModelCountIsLimited) {
  std::string page;
  for (size_t i = 0; i < kMaxModels; ++i) absl::StrAppend(&page, "w_new{model=\"", i, "\"} 1\n");
  EXPECT_THAT(TotalOf(page).waiting, Optional(1000));
  page += "w_new{model=\"one more\"} 1\n";
  EXPECT_THAT(ReadRows(page).status().message(), HasSubstr("more than 1000 models"));
}

}  // namespace
}  // namespace gpuscaler
