#include "gpu/json_line.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(JsonLine, FindsMembersAndElementsOnTheirOwnLine) {
  constexpr char kText[] = R"({
  "a": 1,
  "b": [
    5
    , {"c": "x\ny",
       "d":
         true}
  ],
  "e": 2})";
  const struct {
    const char* path;
    int want;
  } rows[] = {{"", 1},       {"a", 2},      {"b", 3}, {"b[0]", 4}, {"b[1]", 5},
              {"b[1].c", 5}, {"b[1].d", 6}, {"e", 9}, {"f", 1},    {"b[2]", 1}};
  for (const auto& row : rows) EXPECT_EQ(JsonLine(kText, row.path), row.want) << row.path;
}

TEST(JsonLine, InvalidJsonHasTheLineOfTheSyntaxError) {
  EXPECT_EQ(JsonLine("", "a"), 1);
  EXPECT_EQ(JsonLine("\n\nx", "a"), 3);
  EXPECT_EQ(JsonErrorLine("{\n\"]\": 1,\n\"a\": 1e999\n}"), 3);
}

}  // namespace
}  // namespace gpuscaler
