#include "trigger/yaml_documents.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;

// Returns "1: a" for each document with content, by its line in the whole text.
std::vector<std::string> ContentOf(absl::string_view yaml) {
  std::vector<std::string> content;
  ReadYamlDocuments(yaml, [&content](const YamlDocument& document) {
    if (document.root.IsNull()) return;
    const int line = document.lines_before + document.root.Mark().line + 1;
    content.push_back(absl::StrCat(line, ": ", document.root.Scalar()));
  });
  return content;
}

int LineOfFault(absl::string_view yaml) {
  try {
    ReadYamlDocuments(yaml, [](const YamlDocument&) {});
  } catch (const YAML::Exception& error) {
    return error.mark.line + 1;
  }
  return 0;
}

TEST(YamlDocuments, EachIsReadSeparatelyWithTheLinesOfTheText) {
  EXPECT_THAT(ContentOf("a"), ElementsAre("1: a"));
  EXPECT_THAT(ContentOf("---\na\n---\n\nb\n"), ElementsAre("2: a", "5: b"));
  EXPECT_THAT(ContentOf("--- a\n...\n# none\n--- b\n"), ElementsAre("1: a", "4: b"));
  EXPECT_THAT(ContentOf("a\n...\nb\n"), ElementsAre("1: a", "3: b"));
  EXPECT_THAT(ContentOf("---a\n"), ElementsAre("1: ---a")) << "no marker";
  EXPECT_THAT(ContentOf(""), ElementsAre());
}

TEST(YamlDocuments, ErrorHasTheLineInTheText) {
  EXPECT_EQ(LineOfFault("a\n---\nb: [\n"), 4);
  EXPECT_EQ(LineOfFault("a\n---\nb\n...\nc: [\n"), 6);
  EXPECT_EQ(LineOfFault("a\n---\nb\n"), 0);
}

TEST(YamlDocuments, OnlyDocumentKeepsItsLinesAndASecondIsReported) {
  const OnlyDocument only = OnlyYamlDocument("---\n# nothing\n---\nport: 6000\n---\n");
  EXPECT_EQ(only.root["port"].Mark().line + 1, 4);
  EXPECT_EQ(only.second_line, 0);
  EXPECT_EQ(OnlyYamlDocument("a: 1\n---\n\nb: 2\n---\nc: 3\n").second_line, 4);
  EXPECT_TRUE(OnlyYamlDocument("---\n---\n").root.IsNull());
}

TEST(YamlDocuments, ADocumentPerLineTakesNoMoreMemoryThanOne) {
  std::string yaml;
  for (int i = 0; i < 100'000; ++i) yaml += "---\n";
  EXPECT_THAT(ContentOf(yaml + "a\n"), ElementsAre("100001: a"));
}

}  // namespace
}  // namespace gpuscaler
