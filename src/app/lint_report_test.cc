#include "app/lint_report.h"

#include "absl/strings/str_cat.h"
#include "base/test_hostile_name.h"
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

std::vector<FileFindings> HostileFiles() {
  auto files = Files();
  files.front().path = "::error::a.yaml";
  files.front().findings.front().object = absl::StrCat("ScaledObject default/", kHostileName);
  files.front().findings.front().message = absl::StrCat(kHostileName, " is no key");
  return files;
}

TEST(LintText, HasALinePerFindingThatEditorsFollow) {
  EXPECT_EQ(LintText(Files()),
            "deploy/a b.yaml:12: error: ScaledObject default/llm, trigger 0: "
            "use a number [" +
                std::string(LintRules().front().id) + "]\n");
  EXPECT_EQ(LintText({}), "");
}

TEST(LintReport, ANoteIsANoteInEveryFormat) {
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

TEST(LintText, EscapesHostileNames) {
  EXPECT_EQ(LintText(HostileFiles()),
            absl::StrCat("\\x3a:error::a.yaml:12: error: ScaledObject default/", kEscapedName, ": ",
                         kEscapedName, " is no key [", LintRules().front().id, "]\n"));
}

TEST(LintReport, JsonFormatsEscapeAHostileNameAsJsonDoes) {
  const std::string json = LintJson(HostileFiles()), sarif = LintSarif(HostileFiles());
  for (const std::string& text : {json, sarif}) {
    EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos) << text;
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("\n::"))) << text;
  }
  EXPECT_EQ(nlohmann::json::parse(json)["findings"][0]["message"],
            absl::StrCat(kHostileName, " is no key"));
  const auto result = nlohmann::json::parse(sarif)["runs"][0]["results"][0];
  EXPECT_EQ(result["message"]["text"],
            absl::StrCat("ScaledObject default/", kHostileName, ": ", kHostileName, " is no key"));
}

}  // namespace
}  // namespace gpuscaler
