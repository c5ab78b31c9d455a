#include "base/number_text.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(NumberText, KeepsThreeDecimalsAndNoTrailingZeros) {
  EXPECT_EQ(NumberText(80), "80");
  EXPECT_EQ(NumberText(12.5), "12.5");
  EXPECT_EQ(NumberText(1.0 / 3), "0.333");
  EXPECT_EQ(NumberText(-0.0001), "0");
  EXPECT_EQ(NumberText(1200), "1200");
}

TEST(CountText, OnlyOneIsSingular) {
  EXPECT_EQ(CountText(0, "replica"), "0 replicas");
  EXPECT_EQ(CountText(1, "replica"), "1 replica");
  EXPECT_EQ(CountText(2, "replica"), "2 replicas");
}

TEST(ListText, CountsTextsThatItDoesNotName) {
  const std::vector<std::string> texts = {"a", "b", "c"};
  EXPECT_EQ(ListText(texts, 3), "a, b, c");
  EXPECT_EQ(ListText(texts, 2), "a, b and 1 more");
  EXPECT_EQ(ListText(texts, 4, 2), "a, b, c and 2 more");
  EXPECT_EQ(ListText(std::set<std::string>(), 2), "");
}

TEST(ParseNumber, RefusesAllButFiniteNumbers) {
  EXPECT_EQ(*ParseNumber("12.5"), 12.5);
  EXPECT_EQ(*ParseNumber("-3"), -3);
  EXPECT_EQ(*ParseNumber("1e3"), 1000);
  for (const char* text : {"", "nan", "inf", "1e999", "0x10", " 1", "1 ", "12a", "+1"}) {
    EXPECT_FALSE(ParseNumber(text).ok()) << text;
  }
}

TEST(RoundToThreeDecimals, Rounds) {
  EXPECT_DOUBLE_EQ(RoundToThreeDecimals(1.0006), 1.001);
  EXPECT_DOUBLE_EQ(RoundToThreeDecimals(80), 80);
  EXPECT_DOUBLE_EQ(RoundToThreeDecimals(-1.0006), -1.001);
  EXPECT_EQ(RoundToThreeDecimals(1.7e308), 1.7e308) << "finite";
}

}  // namespace
}  // namespace gpuscaler
