#include "page/prometheus_metric.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_series_query.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

constexpr absl::string_view kGateway =
    "queue_size{pool=\"chat\",priority=\"1\"} 3\n"
    "queue_size{pool=\"chat\",priority=\"2\"} 4\n"
    "queue_size{pool=\"embed\"} 10\n"
    "queue_size_bytes{pool=\"chat\"} 1000\n"
    "odd{path=\"a\\\\b\\\"c\\n\"} 7\n"
    "broken{pool=\"chat\"} NaN\n"
    "broken{pool=\"embed\"} 5\n"
    "total 99\n";

absl::StatusOr<double> Sum(absl::string_view text, absl::string_view page = kGateway) {
  const auto selector = ParseMetricSelector(text);
  return selector.ok() ? SumOf(*selector, page) : absl::StatusOr<double>(selector.status());
}

TEST(PrometheusMetric, AddsTheSeriesThatMatch) {
  const struct {
    const char* text;
    double want;
  } rows[] = {
      {"total", 99},
      {"queue_size", 17},
      {"queue_size{}", 17},
      {R"(queue_size{pool="chat"})", 7},
      {R"( queue_size { pool = "chat" , priority = "2" , } )", 4},
      {R"(queue_size{pool='chat'})", 7},
      {R"(queue_size{pool!="chat"})", 10},
      {R"(queue_size{pool=~"c.*|none"})", 7},
      {R"(queue_size{pool!~"c.*"})", 10},
      {R"(queue_size{priority=""})", 10},
      {R"(queue_size{priority!=""})", 7},
      {R"(queue_size{priority=~"[12]",pool="chat",priority!="1"})", 4},
      {R"(queue_size{missing=~".*"})", 17},
      {R"(odd{path="a\\b\"c\n"})", 7},
      {R"(odd{path='a\\b"c\n'})", 7},
      {R"(odd{path=~"a\\\\b.*"})", 7},
      {R"(broken{pool="embed"})", 5},
  };
  for (const auto& row : rows) {
    const auto sum = Sum(row.text);
    EXPECT_TRUE(sum.ok()) << row.text << ": " << sum.status();
    EXPECT_EQ(sum.value_or(-1), row.want) << row.text;
  }
}

TEST(PrometheusMetric, RegexMatchesTheWholeValue) {
  EXPECT_EQ(Sum(R"(queue_size{pool=~"cha"})").status().code(), absl::StatusCode::kNotFound);
}

TEST(PrometheusMetric, NoSeriesIsNotZero) {
  for (const char* text : {"missing", R"(queue_size{pool="chats"})", "queue_siz", "queue"}) {
    const auto sum = Sum(text);
    EXPECT_EQ(sum.status().code(), absl::StatusCode::kNotFound) << text;
    EXPECT_THAT(sum.status().message(), HasSubstr(absl::StrCat("no series of ", text)));
  }
}

TEST(PrometheusMetric, NoSeriesOfACompletePageIsZeroIfConfigured) {
  const MetricSelector held = *ParseMetricSelector("held{pool=\"chat\"}");
  const auto sum = [&](absl::string_view page, ExpositionFormat format = ExpositionFormat::kText) {
    return SumOf(held, page, format, /*zero_if_absent=*/true);
  };
  EXPECT_EQ(*sum(kGateway), 0);
  EXPECT_EQ(*sum("held{pool=\"embed\"} 3\n"), 0);
  EXPECT_EQ(*sum("held{pool=\"chat\"} 3\n"), 3);
  EXPECT_EQ(*sum("# HELP held Requests.\n# TYPE held gauge\n"), 0) << "a family without series";
  for (const char* blank : {"", "\n\n"}) {
    EXPECT_EQ(sum(blank).status().code(), absl::StatusCode::kNotFound)
        << "any server may have an empty page";
    EXPECT_THAT(std::string(sum(blank).status().message()), HasSubstr("empty"));
  }
  EXPECT_EQ(sum("total 9").status().code(), absl::StatusCode::kInvalidArgument) << "cut off";
  EXPECT_EQ(sum("total 9\n", ExpositionFormat::kOpenMetrics).status().code(),
            absl::StatusCode::kInvalidArgument)
      << "without its # EOF";
  EXPECT_EQ(sum("held{pool=\"chat\"} NaN\n").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(PrometheusMetric, SeriesThatIsNotANumberMakesTheSumUnknown) {
  EXPECT_EQ(Sum("broken").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Sum("a", "a{x=\"1\"} +Inf\na{x=\"2\"} 1\n").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Sum("a", "a{x=\"1\"} 1e308\na{x=\"2\"} 1e308\n").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(PrometheusMetric, NegativeSeriesMakesTheSumUnknown) {
  for (const char* page : {"a -1\n", "a{x=\"1\"} 100\na{x=\"2\"} -100\n"}) {
    const auto sum = Sum("a", page);
    EXPECT_EQ(sum.status().code(), absl::StatusCode::kFailedPrecondition) << page;
    EXPECT_THAT(sum.status().message(), HasSubstr("negative"));
  }
  EXPECT_EQ(*Sum("a{x=\"1\"}", "a{x=\"1\"} 100\na{x=\"2\"} -100\n"), 100);
}

// On 4 MB RE2 would take some 15 s.
TEST(PrometheusMetric, RegexThatWouldTakeTooLongIsNotTried) {
  const char kSlow[] = R"(a{x=~"(?:(?:[ab]*a[ab]{100})|(?:[ab]*b[ab]{101}))c"})";
  std::string page;
  for (int i = 0; i < 20; ++i)
    absl::StrAppend(&page, "a{x=\"", std::string(31'000, 'b'), "\"} 1\n");
  const auto sum = Sum(kSlow, page);
  EXPECT_EQ(sum.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(sum.status().message(), HasSubstr("would take too long on this page"));
  EXPECT_EQ(*Sum(R"(a{x=~"b+"})", page), 20) << "a short one does not";
}

TEST(PrometheusMetric, MalformedPageHasNoSum) {
  EXPECT_EQ(Sum("total", "total 9").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PrometheusMetric, ErrorsNameThePositionAndWhatIsAllowed) {
  std::string many = "a{x=\"1\"";
  for (size_t i = 0; i < kMaxMatchers; ++i) absl::StrAppend(&many, ",x=\"1\"");
  const struct {
    std::string text;
    const char* want;
  } rows[] = {
      {"", "the name of a metric expected at character 1, not the end: write name{label=\"value\""},
      {"{pool=\"chat\"}", "the name of a metric expected at character 1"},
      {"9a", "the name of a metric expected at character 1, not \"9a\""},
      {"rate(a)", "{ or the end expected at character 5, not \"(a)\""},
      {"a[5m]", "{ or the end expected at character 2"},
      {"a b", "{ or the end expected at character 3"},
      {"a{", "the name of a label, or } expected at character 3, not the end"},
      {"a{:x=\"1\"}", "the name of a label, or } expected at character 3"},
      {"a{x}", "=, !=, =~ or !~ expected at character 4, not \"}\""},
      {"a{x==\"1\"}", "a value in quotes expected at character 5, not \"=\"1\"}\""},
      {"a{x=1}", "a value in quotes expected at character 5, not \"1}\""},
      {"a{x=\"1}", "a value with closed quotes expected at character 5"},
      {"a{x='1\"}", "a value with closed quotes expected"},
      {"a{x=~\"\\d\"}", "\\\\, \\n or an escaped quote expected at character 7, not \"\\d\"}\""},
      {"a{x=\"\\", "an escaped quote expected"},
      {"a{x=~\"(\"}", "\"(\" is no regular expression: missing )"},
      {"a{x=\"1\" y=\"2\"}", ", or } expected at character 9"},
      {"a{x=\"1\",,}", "the name of a label, or } expected at character 9"},
      {"a{x=\"1\"} > 5", "the end expected at character 10, not \"> 5\""},
      {many + "}", "more than 16 labels"},
      {std::string(kMaxSelectorLength + 1, 'a'), "more than 1000 characters"},
  };
  for (const auto& row : rows) {
    const auto selector = ParseMetricSelector(row.text);
    EXPECT_EQ(selector.status().code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(selector.status().message(), HasSubstr(row.want)) << row.text;
  }
}

TEST(PrometheusMetric, RegexThatNeedsTooMuchMemoryIsRefused) {
  const auto selector = ParseMetricSelector(R"(a{x=~"((a{100}){100}){10}"})");
  EXPECT_EQ(selector.status().code(), absl::StatusCode::kInvalidArgument) << selector.status();
}

}  // namespace
}  // namespace gpuscaler
