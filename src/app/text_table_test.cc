#include "app/text_table.h"

#include <utility>

#include "absl/strings/match.h"
#include "app/text_width.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;

TextRow Row(const std::string& name, std::optional<double> value, const std::string& trouble) {
  return {
      .key = name,
      .cells = {{.text = name},
                {.text = value ? std::to_string(static_cast<int>(*value)) : "-", .number = value},
                {.text = trouble}}};
}

TextTable Table() {
  return {.columns = {{.name = "NAME", .least_width = 12},
                      {.name = "VALUE", .is_number = true, .rank = 2},
                      {.name = "TROUBLE", .least_width = 12, .rank = 1}},
          .rows = {Row("shop/llm", 9, ""), Row("shop/embed", std::nullopt, "no reading"),
                   Row("lab/batch", 120, "")}};
}

std::vector<std::string> KeysInOrder(const TextTable& table) {
  std::vector<std::string> keys;
  for (const TextRow& row : table.rows) keys.push_back(row.key);
  return keys;
}

TEST(TableLines, AlignNumbersToTheRightAndMarkTheSelectedRow) {
  EXPECT_THAT(TableLines(Table(), {.selected = 2}, {}),
              ElementsAre("  NAME        VALUE  TROUBLE",  //
                          "  shop/llm        9",           //
                          "  shop/embed      -  no reading", "> lab/batch     120"));
}

TEST(TableLines, AreExactlyAsWideAsTheTerminal) {
  for (const size_t width : {1, 10, 20, 24, 30, 80}) {
    for (const std::string& line : TableLines(Table(), {.width = width, .selected = 0}, {})) {
      EXPECT_EQ(TextWidth(line), width) << line;
    }
  }
}

TEST(TableLines, LeaveOutTheColumnsOfTheHighestRank) {
  const auto narrow = TableLines(Table(), {.width = 24}, {});
  EXPECT_TRUE(absl::StrContains(narrow[0], "TROUBLE")) << narrow[0];
  EXPECT_FALSE(absl::StrContains(narrow[0], "VALUE")) << narrow[0];
}

TEST(TableLines, HaveNoColoursUnlessAsked) {
  TextTable table = Table();
  table.rows[0].tone = Tone::kError;
  for (const std::string& line : TableLines(table, {.selected = 1}, {})) {
    EXPECT_FALSE(absl::StrContains(line, "\x1b")) << line;
  }
  const auto coloured = TableLines(table, {.selected = 1}, {.color = true});
  EXPECT_TRUE(absl::StartsWith(coloured[1], "\x1b[31m")) << coloured[1];
  EXPECT_TRUE(absl::EndsWith(coloured[1], "\x1b[0m")) << coloured[1];
  EXPECT_TRUE(absl::StartsWith(coloured[2], "\x1b[7m")) << coloured[2];
}

TEST(TableLines, AreThoseFromTheFirstOn) {
  EXPECT_EQ(TableLines(Table(), {.first = 1, .count = 1}, {}).size(), 2u);
  EXPECT_EQ(TableLines(Table(), {.first = 9}, {}).size(), 1u);
}

TEST(SortRows, PutsTheLargestNumberFirstAndUnknownOnesLast) {
  TextTable table = Table();
  SortRows(table, 1, false);
  EXPECT_THAT(KeysInOrder(table), ElementsAre("lab/batch", "shop/llm", "shop/embed"));
  SortRows(table, 1, true);
  EXPECT_THAT(KeysInOrder(table), ElementsAre("shop/llm", "lab/batch", "shop/embed"));
  SortRows(table, 0, false);
  EXPECT_THAT(KeysInOrder(table), ElementsAre("lab/batch", "shop/embed", "shop/llm"));
}

TEST(FilterRows, KeepsTheRowsWithTheText) {
  TextTable table = Table();
  FilterRows(table, "");
  EXPECT_EQ(table.rows.size(), 3u);
  FilterRows(table, "SHOP");
  EXPECT_THAT(KeysInOrder(table), ElementsAre("shop/llm", "shop/embed"));
  FilterRows(table, "reading");
  EXPECT_THAT(KeysInOrder(table), ElementsAre("shop/embed"));
}

}  // namespace
}  // namespace gpuscaler
