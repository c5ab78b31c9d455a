#include "app/text_width.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(TextWidth, IsAColumnForEachCodePoint) {
  EXPECT_EQ(TextWidth(""), 0u);
  EXPECT_EQ(TextWidth("llm"), 3u);
  EXPECT_EQ(TextWidth("▁▅█"), 3u);
  EXPECT_EQ(TextWidth("µ1…"), 3u);
}

TEST(FittedText, IsExactlyAsWideAsAsked) {
  struct Case {
    std::string text;
    size_t width;
    std::string left;
    std::string right;
  };
  const std::vector<Case> cases = {
      {"llm", 5, "llm  ", "  llm"}, {"llm", 3, "llm", "llm"}, {"embed", 3, "em…", "em…"},
      {"▁▅█▅", 3, "▁▅…", "▁▅…"},    {"embed", 0, "", ""},     {"", 2, "  ", "  "},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(FittedLeft(test.text, test.width, false), test.left) << test.text;
    EXPECT_EQ(FittedRight(test.text, test.width, false), test.right) << test.text;
  }
  EXPECT_EQ(FittedLeft("embed", 3, true), "em~");
}

TEST(FirstColumns, NeverDividesACharacter) {
  EXPECT_EQ(FirstColumns("▁▅█", 2), "▁▅");
  EXPECT_EQ(FirstColumns("▁▅█", 9), "▁▅█");
  EXPECT_EQ(FirstColumns("▁▅█", 0), "");
}

}  // namespace
}  // namespace gpuscaler
