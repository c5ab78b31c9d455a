#include "app/sparkline.h"

#include <vector>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(Sparkline, RisesFromZeroToTheLargestPoint) {
  EXPECT_EQ(Sparkline(std::vector<SparklinePoint>{0, 10, 20, 70}, 4, false), "▁▂▃█");
  EXPECT_EQ(Sparkline(std::vector<SparklinePoint>{0, 10, 20, 70}, 4, true), "_.-@");
}

TEST(Sparkline, UnknownPointsAreBlankAndNotZero) {
  EXPECT_EQ(Sparkline(std::vector<SparklinePoint>{0, std::nullopt, 70}, 3, true), "_ @");
  EXPECT_EQ(Sparkline(std::vector<SparklinePoint>{std::nullopt, std::nullopt}, 2, true), "  ");
}

TEST(Sparkline, APeakOfOnePointStaysVisible) {
  std::vector<SparklinePoint> points(60, 0.0);
  points[31] = 70;
  EXPECT_EQ(Sparkline(points, 6, true), "___@__");
}

TEST(Sparkline, FewPointsAreOnTheRight) {
  EXPECT_EQ(Sparkline(std::vector<SparklinePoint>{70}, 3, true), "  @");
  EXPECT_EQ(Sparkline(std::vector<SparklinePoint>{}, 3, true), "   ");
}

TEST(Sparkline, AllZeroIsTheLowestGlyph) {
  EXPECT_EQ(Sparkline(std::vector<SparklinePoint>{0, 0}, 2, true), "__");
}

TEST(Sparkline, ATopIsTheScale) {
  EXPECT_EQ(Sparkline(std::vector<SparklinePoint>{0, 50, 100, 900}, 4, true, 100), "_+@@");
}

}  // namespace
}  // namespace gpuscaler
