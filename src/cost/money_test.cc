#include "cost/money.h"

#include <limits>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr int64_t kMoneyHour = int64_t{3'600} * 1'000'000;

TEST(ParseHourlyPrice, TakesDecimalsExactly) {
  const struct {
    const char* text;
    int64_t want;
  } kRows[] = {{"0", 0},
               {"2.45", 2'450'000},
               {".5", 500'000},
               {"3.", 3'000'000},
               {"0.526000000", 526'000},
               {"0.000001", 1},
               {"1000000", 1'000'000'000'000}};
  for (const auto& row : kRows) {
    const auto price = ParseHourlyPrice(row.text);
    ASSERT_TRUE(price.ok()) << row.text << ": " << price.status();
    EXPECT_EQ(price->micro_units, row.want) << row.text;
  }
}

TEST(ParseHourlyPrice, RefusesAllElse) {
  for (const char* text : {"", ".", "-1", "+1", "1e3", "nan", "0x1", " 1", "1 ", "1,5", "$2",
                           "0.0000001", "1000001", "99999999999999999999", "1.2.3"}) {
    EXPECT_EQ(ParseHourlyPrice(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Money, RoundsOnceAndTiesToEven) {
  const HourlyPrice cent{.micro_units = 10'000};
  const struct {
    int64_t gpu_micros;
    const char* want;
  } kRows[] = {{0, "0.00"},
               {kMoneyHour, "0.01"},
               {kMoneyHour / 2, "0.00"},      // 0.5 cents
               {kMoneyHour / 2 + 1, "0.01"},  // a little more
               {kMoneyHour / 2 * 3, "0.02"},  // 1.5 cents
               {kMoneyHour / 2 * 5, "0.02"},  // 2.5 cents
               {kMoneyHour * 12'345, "123.45"}};
  for (const auto& row : kRows) {
    EXPECT_EQ(Money(cent, row.gpu_micros).Text(), row.want) << row.gpu_micros;
  }
}

TEST(Money, SumsOfPartsAreExact) {
  const HourlyPrice price{.micro_units = 3'333'333};
  Money sum;
  for (int i = 0; i < 7'200; ++i) sum.Add(Money(price, kMoneyHour / 7'200));
  EXPECT_EQ(sum, Money(price, kMoneyHour));
  EXPECT_EQ(sum.Text(), "3.33");
}

TEST(Money, HoldsTheHighestPriceForTheLongestTime) {
  const HourlyPrice price{.micro_units = 1'000'000'000'000};
  const Money money(price, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(money.Text(), "2562047788015215.50");
}

TEST(Money, SavingsMayBeNegative) {
  EXPECT_EQ(Money(HourlyPrice{.micro_units = 1'500'000}, -kMoneyHour).Text(), "-1.50");
  EXPECT_EQ(Money(HourlyPrice{.micro_units = 5'000}, -kMoneyHour).Text(), "0.00");
  EXPECT_EQ(Money(HourlyPrice{.micro_units = 15'000}, -kMoneyHour).Text(), "-0.02");
}

TEST(Money, FromHundredthsReadsBackAsItself) {
  for (const int64_t hundredths : {int64_t{0}, int64_t{1}, int64_t{-250}, int64_t{123'456'789}}) {
    EXPECT_EQ(Money::FromHundredths(hundredths).Hundredths(), hundredths);
  }
}

TEST(HoursText, RoundsOnceAndTiesToEven) {
  EXPECT_EQ(HoursText(kMoneyHour / 2 * 3, 6), "1.500000");
  EXPECT_EQ(HoursText(kMoneyHour / 3, 2), "0.33");
  EXPECT_EQ(HoursText(kMoneyHour / 200, 2), "0.00");      // 0.005
  EXPECT_EQ(HoursText(kMoneyHour / 200 * 3, 2), "0.02");  // 0.015
  EXPECT_EQ(HoursText(kMoneyHour * 25, 0), "25");
}

}  // namespace
}  // namespace gpuscaler
