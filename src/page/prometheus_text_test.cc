#include "page/prometheus_text.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Taken {
  absl::Status status;
  std::vector<std::string> samples;  // name{label=value,...} value
};

std::string AsText(const ExpositionSample& sample) {
  std::vector<std::string> labels;
  for (const ExpositionLabel& label : sample.labels) {
    labels.push_back(absl::StrCat(label.name, "=", Unescaped(label.escaped_value)));
  }
  return absl::StrCat(sample.name, "{", absl::StrJoin(labels, ","), "} ", NumberText(sample.value));
}

Taken TakeAll(absl::string_view page, ExpositionFormat format = ExpositionFormat::kText) {
  Taken taken;
  taken.status = ReadPage(
      page, format, [](absl::string_view) { return true; },
      [&](const ExpositionSample& sample) { taken.samples.push_back(AsText(sample)); });
  return taken;
}

TEST(PrometheusText, ReadsNamesLabelsAndValues) {
  const Taken taken = TakeAll(
      "# HELP vllm:num_requests_running Requests in the batch.\n"
      "# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"m/a\"} 37.0\n"
      "\n"
      "llamacpp:requests_deferred 2\n"
      "  spaced \t { a = \"1\" , b=\"2\" , } \t +1.5e3 \n"
      "no_blank{a=\"b\"}7\n"
      "_x{} .5\n");
  EXPECT_TRUE(taken.status.ok()) << taken.status;
  EXPECT_THAT(taken.samples, ElementsAre("vllm:num_requests_running{engine=0,model_name=m/a} 37",
                                         "llamacpp:requests_deferred{} 2", "spaced{a=1,b=2} 1500",
                                         "no_blank{a=b} 7", "_x{} 0.5"));
}

TEST(PrometheusText, ReadsNanAndInfinity) {
  const Taken taken = TakeAll("a NaN\nb +Inf\nc -Inf\nd Inf\ne -nan\nf infinity\n");
  EXPECT_TRUE(taken.status.ok()) << taken.status;
  EXPECT_THAT(taken.samples,
              ElementsAre("a{} nan", "b{} inf", "c{} -inf", "d{} inf", "e{} nan", "f{} inf"));
}

TEST(PrometheusText, SkipsTimestampsAndExemplars) {
  const Taken taken = TakeAll(
      "a 1 1767225600000\n"
      "b{x=\"y\"} 2 -5\n"
      "c_bucket{le=\"0.5\"} 3 # {trace_id=\"abc\"} 0.2 1767225600.5\n"
      "d_total 4 1767225600.123 # {} 1\n"
      "# EOF\n",
      ExpositionFormat::kOpenMetrics);
  EXPECT_TRUE(taken.status.ok()) << taken.status;
  EXPECT_THAT(taken.samples, ElementsAre("a{} 1", "b{x=y} 2", "c_bucket{le=0.5} 3", "d_total{} 4"));
}

TEST(PrometheusText, UnescapesALabelOnRequest) {
  const Taken taken = TakeAll(
      "a{x=\"\"} 1\n"
      "b{x=\"x \\\"hi\\\"\\n\",y=\"C:\\\\d, } #\"} 2\n"
      "c{x=\"\\q\"} 3\n");
  EXPECT_TRUE(taken.status.ok()) << taken.status;
  EXPECT_THAT(taken.samples,
              ElementsAre("a{x=} 1", "b{x=x \"hi\"\n,y=C:\\d, } #} 2", "c{x=\\q} 3"));
}

TEST(PrometheusText, MissingLabelIsEmpty) {
  const ExpositionLabel labels[] = {{"model", "m\\\\1"}, {"empty", ""}};
  const ExpositionSample sample{.name = "a", .labels = labels};
  EXPECT_EQ(sample.EscapedLabel("model"), "m\\\\1");
  EXPECT_EQ(sample.Label("model"), "m\\1");
  EXPECT_EQ(sample.Label("empty"), "");
  EXPECT_EQ(sample.Label("missing"), "");
}

TEST(PrometheusText, CarriageReturnsBeforeLineFeedsAreIgnored) {
  const Taken text = TakeAll("# TYPE a gauge\r\n\r\na 1\r\nb{x=\"y\"} 2\r\n");
  EXPECT_TRUE(text.status.ok()) << text.status;
  EXPECT_THAT(text.samples, ElementsAre("a{} 1", "b{x=y} 2"));
  const Taken open = TakeAll("a 1\r\n# EOF\r\n", ExpositionFormat::kOpenMetrics);
  EXPECT_TRUE(open.status.ok()) << open.status;
}

TEST(PrometheusText, FiltersOncePerRunOfSamplesWithOneName) {
  std::vector<std::string> filtered;
  std::vector<std::string> taken;
  const absl::Status status = ReadPage(
      "w{reason=\"capacity\"} 1\nw_by_reason 2\nw_by_reason 3\nw 4\n", ExpositionFormat::kText,
      [&](absl::string_view name) {
        filtered.emplace_back(name);
        return name == "w";
      },
      [&](const ExpositionSample& sample) { taken.push_back(AsText(sample)); });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(filtered, ElementsAre("w", "w_by_reason", "w"));
  EXPECT_THAT(taken, ElementsAre("w{reason=capacity} 1", "w{} 4"));
}

TEST(PrometheusText, EmptyPageHasNoSamples) {
  EXPECT_TRUE(TakeAll("").status.ok());
  EXPECT_THAT(TakeAll("").samples, IsEmpty());
  EXPECT_TRUE(TakeAll("# EOF\n", ExpositionFormat::kOpenMetrics).status.ok());
}

TEST(PrometheusText, TruncatedPageIsAnError) {
  constexpr absl::string_view kText = "a 1\nb{x=\"y\"} 123\n";
  for (size_t length = 1; length < kText.size(); ++length) {
    if (length == 4) continue;  // "a 1\n" is complete: only Content-Length shows that
    EXPECT_FALSE(TakeAll(kText.substr(0, length)).status.ok()) << kText.substr(0, length);
  }
  constexpr absl::string_view kOpen = "a 1\nb{x=\"y\"} 123\n# EOF\n";
  for (size_t length = 0; length < kOpen.size() - 1; ++length) {
    EXPECT_FALSE(TakeAll(kOpen.substr(0, length), ExpositionFormat::kOpenMetrics).status.ok())
        << kOpen.substr(0, length);
  }
  EXPECT_TRUE(
      TakeAll(kOpen.substr(0, kOpen.size() - 1), ExpositionFormat::kOpenMetrics).status.ok());
}

TEST(PrometheusText, ErrorsNameTheLineAndTheMistake) {
  const struct {
    const char* name;
    std::string page;
    const char* want;
  } rows[] = {
      {"HTML", "<html>\n", "line 1: name of a metric expected at character 1, where HTML begins"},
      {"JSON", "a 1\n{\"models\": []}\n", "line 2: name of a metric expected"},
      {"binary", "a 1\n\n\x01\x02\xff\n", "line 3: name of a metric expected at character 1"},
      {"a digit first", "9a 1\n", "line 1: name of a metric expected at character 1"},
      {"no value", "a\n", "line 1: value expected at the end"},
      {"no value after labels", "a{x=\"y\"}\n", "line 1: value expected at the end"},
      {"a word", "a 1\nb two\n", "line 2: value expected at character 3"},
      {"two numbers in one", "a 1.2.3\n", "line 1: value expected at character 3"},
      {"two signs", "a +-1\n", "line 1: value expected at character 3"},
      {"not a number with payload", "a nan(1)\n", "value expected at character 3"},
      {"too large a number", "a 1e999\n", "line 1: value expected at character 3"},
      {"hex", "a 0x10\n", "line 1: value expected at character 3"},
      {"a dash in the name", "a-b 1\n", "line 1: name of a metric expected at character 1"},
      {"a colon in a label's name", "a{x:y=\"z\"} 1\n",
       "=\"value\" of a label expected at character 4"},
      {"no name of a label", "a{=\"z\"} 1\n", "name of a label expected at character 3"},
      {"no quotes", "a{x=y} 1\n", "=\"value\" of a label expected at character 5"},
      {"no closing quote", "a{x=\"y} 1\n", "value of a label without closing quote at character 5"},
      {"an escaped closing quote", "a{x=\"y\\\"} 1\n", "value of a label without closing quote"},
      {"Latin-1", "a{x=\"caf\xe9\"} 1\n", "value of a label that is not UTF-8 at character 5"},
      {"half a character", "a{x=\"\xe9\x80\"} 1\n", "value of a label that is not UTF-8"},
      {"no brace", "a{x=\"y\" 1\n",
       "labels without an end: \",\" or \"}\" expected at character 9"},
      {"no comma", "a{x=\"y\" z=\"1\"} 1\n", "expected at character 9"},
      {"two commas", "a{x=\"y\",,} 1\n", "name of a label expected at character 9"},
      {"a word for a timestamp", "a 1 now\n", "line 1: timestamp expected at character 5"},
      {"text at the end", "a 1 2 3\n", "line 1: end of the line expected at character 7"},
      {"exemplar without labels", "a 1 # 0.5\n", "line 1: exemplar without labels"},
      {"exemplar without value", "a 1 # {x=\"y\"}\n", "value of the exemplar expected at the end"},
      {"a long word", absl::StrCat("a ", std::string(100, 'x'), "\n"),
       "value expected at character 3"},
  };
  for (const auto& row : rows) {
    const absl::Status status = TakeAll(row.page).status;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.name << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr(row.want)) << row.name;
  }
}

TEST(PrometheusText, MalformedLineOfAnUnwantedMetricIsAnError) {
  const absl::Status status = ReadPage(
      "a 1\nb{ 2\n", ExpositionFormat::kText, [](absl::string_view name) { return name == "a"; },
      [](const ExpositionSample&) {});
  EXPECT_THAT(status.message(), HasSubstr("line 2: "));
}

TEST(PrometheusText, NothingFollowsTheEndOfOpenMetrics) {
  const Taken open = TakeAll("a 1\n# EOF\nb 2\n", ExpositionFormat::kOpenMetrics);
  EXPECT_THAT(open.status.message(), HasSubstr("line 3: text after \"# EOF\""));
  EXPECT_TRUE(TakeAll("a 1\n# EOF\nb 2\n").status.ok()) << "a comment of the text format";
}

TEST(PrometheusText, PageLineAndLabelSizesAreLimited) {
  EXPECT_THAT(TakeAll(std::string(kMaxExpositionBytes + 1, '\n')).status.message(),
              HasSubstr("a page of more than 4194304 bytes"));
  const std::string long_line = absl::StrCat("a 1\n#", std::string(kMaxLineBytes, 'x'), "\n");
  EXPECT_THAT(TakeAll(long_line).status.message(), HasSubstr("line 2: more than 32768 bytes"));
  std::string labels = "x=\"y\"";
  for (size_t i = 1; i < kMaxLabels; ++i) absl::StrAppend(&labels, ",x=\"y\"");
  EXPECT_TRUE(TakeAll(absl::StrCat("a{", labels, "} 1\n")).status.ok());
  EXPECT_THAT(TakeAll(absl::StrCat("a{", labels, ",x=\"y\"} 1\n")).status.message(),
              HasSubstr("line 1: a sample with more than 64 labels"));
}

TEST(PrometheusText, ContentTypeSelectsTheFormat) {
  EXPECT_EQ(ExpositionFormatOf("application/openmetrics-text; version=1.0.0; charset=utf-8"),
            ExpositionFormat::kOpenMetrics);
  EXPECT_EQ(ExpositionFormatOf(" Application/OpenMetrics-Text"), ExpositionFormat::kOpenMetrics);
  EXPECT_EQ(ExpositionFormatOf("text/plain; version=0.0.4"), ExpositionFormat::kText);
  EXPECT_EQ(ExpositionFormatOf(""), ExpositionFormat::kText);
}

}  // namespace
}  // namespace gpuscaler
