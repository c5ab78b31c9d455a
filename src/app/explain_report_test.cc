#include "app/explain_report.h"

#include "absl/strings/str_split.h"
#include "app/query_report.h"
#include "app/test_web_documents.h"
#include "app/web_document.h"
#include "base/test_hostile_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ExplainReport LlmReport() {
  ExplainReport report;
  report.trigger = "s0-llm";
  report.explanation = WebDocument::parse(kTestExplanation);
  return report;
}

// Returns what `query --explain` prints of an explanation.
std::string QueriedText(const std::string& text) {
  QueryReport report;
  gpuscaler::v1::Explanation explanation;
  explanation.set_text(text);
  report.explanation = explanation;
  const std::string all = QueryText(report);
  return all.substr(all.find("\n\n") + 2);
}

TEST(ExplainText, OfNowIsWordForWordThatOfQuery) {
  const std::vector<std::string> texts = {"value: 163.5\n  llm-0  80\n", "value: 0", "",
                                          "value: 80\n\n  ::error::y\x1b[2J\r\n"};
  for (const std::string& text : texts) {
    ExplainReport report = LlmReport();
    report.explanation["text"] = text;
    EXPECT_EQ(ExplainText(report, {}), QueriedText(text));
  }
}

TEST(ExplainText, OfThePastHasItsTime) {
  const std::string text = ExplainText(LlmReport(), {.at = absl::FromUnixSeconds(1767225612)});
  EXPECT_THAT(text, StartsWith("explained at 2026-01-01 00:00:00 +00:00, the newest explanation on "
                               "agg-7f at or before 2026-01-01 00:00:12 +00:00\nvalue: 163.5"));
}

TEST(ExplainText, SeveralTriggersAreNamed) {
  EXPECT_THAT(ExplainText(LlmReport(), {.names_trigger = true}),
              StartsWith("trigger s0-llm\nvalue: 163.5"));
}

TEST(ExplainText, TheTimelineHasSeriesEventsAndGaps) {
  ExplainReport report = LlmReport();
  report.history = WebDocument::parse(kTestHistory);
  const std::string text = ExplainText(report, {.ascii = true});
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_THAT(
      std::vector<std::string>(lines.begin(), lines.begin() + 16),
      ElementsAre("shop/llm  s0-llm  on agg-7f",
                  "2025-12-31 23:59:00 +00:00 to 2026-01-01 00:00:00 +00:00, a point each "
                  "15 s",
                  "",  //
                  "value       _=  @  0 to 163.5, last 163.5",
                  "target      @@@@@  always 80",  //
                  "replicas    +@  @  1 to 2, last 2", "starting    _@  _  0 to 1, last 0",
                  "            23:59:00 00:00:00",  //
                  "",                               //
                  "23:59:15  scale: from 1 to 2 replicas", "23:59:30  error: no value: UNAVAILABLE",
                  "23:59:30  gap of 15s: no reading",  //
                  "",
                  "2 explanations kept, from 23:59:00 to 23:59:45: show another one with "
                  "--at 23:59:00",
                  "", "value: 163.5, the sum of 2 replicas"));
}

TEST(ExplainText, AnEmptyTimelineIsASentence) {
  ExplainReport report = LlmReport();
  report.history = WebDocument::parse(R"({"namespace":"shop","name":"llm","value":[]})");
  EXPECT_THAT(ExplainText(report, {}), HasSubstr("nothing was recorded in this period"));
}

TEST(ExplainText, HostileTextIsEscaped) {
  ExplainReport report = LlmReport();
  report.trigger = kHostileName;
  report.history = WebDocument::parse(kTestHistory);
  report.history["marks"][1]["text"] = kHostileName;
  const std::string text = ExplainText(report, {.names_trigger = true});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr(kEscapedName));
}

TEST(ExplainJson, HasTheDocumentsOfEachTrigger) {
  ExplainReport report = LlmReport();
  report.history = WebDocument::parse(kTestHistory);
  ExplainReport gone;
  gone.trigger = "s1";
  gone.fault = absl::OutOfRangeError("it is gone");
  const auto json = nlohmann::json::parse(ExplainJson({report, gone}));
  EXPECT_EQ(json[0]["explanation"], nlohmann::json::parse(kTestExplanation));
  EXPECT_EQ(json[0]["history"], nlohmann::json::parse(kTestHistory));
  EXPECT_TRUE(json[1]["explanation"].is_null());
  EXPECT_EQ(json[1]["error"], "it is gone");
}

TEST(UnknownWorkload, NamesTheNearest) {
  const WebDocument workloads = WebDocument::parse(kTestWorkloads);
  const absl::Status fault = absl::NotFoundError("nothing was recorded then");
  const auto message = [&](const char* name, const char* trigger) {
    const absl::Status status = UnknownWorkload(name, trigger, workloads, fault);
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << name;
    return std::string(status.message());
  };
  EXPECT_THAT(message("shop/lmm", ""),
              StartsWith("shop/lmm: this ScaledObject requests no values from this scaler; did you "
                         "mean \"shop/llm\"?; those that do are shop/llm, "));
  EXPECT_THAT(message("zoo/batch", "s2"), StartsWith("zoo/batch has no trigger s2"));
  EXPECT_THAT(message("zoo/batch", "s2"), EndsWith("; it has s0-a, s1-b"));
  EXPECT_EQ(message("zoo/batch", "s1-b"), fault.message());
  EXPECT_EQ(message("zoo/batch", ""), fault.message());
  const std::string none(UnknownWorkload("a/b", "", WebDocument::parse("{}"), fault).message());
  EXPECT_THAT(none, HasSubstr("no ScaledObject requests values"));
  EXPECT_THAT(none, EndsWith("kubectl port-forward pod/NAME 8082"));
}

}  // namespace
}  // namespace gpuscaler
