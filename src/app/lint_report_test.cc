#include "app/lint_report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

std::vector<FileFindings> Files() {
  const LintRule rule = LintRules().front();
  return {{"deploy/a b.yaml",
           {{.severity = Finding::Severity::kError,
             .rule = std::string(rule.id),
             .message = "use a number",
             .object = "ScaledObject default/llm, trigger 0",
             .line = 12}}}};
}

TEST(LintText, IsALineAFindingThatEditorsFollow) {
  EXPECT_EQ(LintText(Files()),
            "deploy/a b.yaml:12: error: ScaledObject default/llm, trigger 0: "
            "use a number [" +
                std::string(LintRules().front().id) + "]\n");
  EXPECT_EQ(LintText({}), "");
}

TEST(LintReport, ANoteIsOneInEveryFormat) {
  auto files = Files();
  files.front().findings.front().severity = Finding::Severity::kNote;
  EXPECT_THAT(LintText(files), testing::HasSubstr("deploy/a b.yaml:12: note: "));
  EXPECT_EQ(nlohmann::json::parse(LintJson(files))["findings"][0]["severity"], "note");
  EXPECT_EQ(nlohmann::json::parse(LintSarif(files))["runs"][0]["results"][0]["level"], "note");
}

TEST(LintJson, NamesFileLineAndRule) {
  const auto json = nlohmann::json::parse(LintJson(Files()));
  EXPECT_EQ(json["findings"][0]["file"], "deploy/a b.yaml");
  EXPECT_EQ(json["findings"][0]["line"], 12);
  EXPECT_EQ(json["findings"][0]["severity"], "error");
}

TEST(LintSarif, EveryResultPointsAtARuleAndALine) {
  const auto json = nlohmann::json::parse(LintSarif(Files()));
  EXPECT_EQ(json["version"], "2.1.0");
  const auto& run = json["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), LintRules().size());
  EXPECT_EQ(run["results"][0]["ruleId"], run["tool"]["driver"]["rules"][0]["id"]);
  const auto& location = run["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(location["artifactLocation"]["uri"], "deploy/a%20b.yaml");
  EXPECT_EQ(location["region"]["startLine"], 12);
}

}  // namespace
}  // namespace gpuscaler
