#include "engine/series_growth.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_series_query.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

const absl::Time kFirstPage = absl::FromUnixSeconds(1'767'225'600);
constexpr absl::Duration kLongestGap = absl::Seconds(30);

// The growth of the series of one selector.
struct SelectedGrowth {
  absl::StatusOr<CounterPoint> Take(absl::Time at, absl::string_view page) {
    RETURN_IF_ERROR(ReadOne(selector, growth, page, ExpositionFormat::kText, zero_if_absent));
    return growth.GrownBy(at);
  }

  MetricSelector selector;
  bool zero_if_absent = false;
  SeriesGrowth growth{selector.text, kLongestGap};
};

SelectedGrowth Follow(absl::string_view selector, bool zero_if_absent = false) {
  return {.selector = *ParseMetricSelector(selector), .zero_if_absent = zero_if_absent};
}

absl::StatusOr<double> TakeAt(SelectedGrowth& growth, int second, absl::string_view page) {
  ASSIGN_OR_RETURN(const CounterPoint point, growth.Take(kFirstPage + absl::Seconds(second), page));
  return point.value;
}

TEST(SeriesGrowth, FollowsEachSeriesSeparately) {
  const struct {
    const char* name;
    std::vector<const char*> pages;  // 10 s apart; empty: the fetch failed
    double want;
  } rows[] = {
      {"the first page is where they start", {"done{p=\"a\"} 1000\n"}, 0},
      {"both grow",
       {"done{p=\"a\"} 1000\ndone{p=\"b\"} 5\n", "done{p=\"a\"} 1003\ndone{p=\"b\"} 9\n"},
       7},
      {"one is missing and comes back: what it has is no growth",
       {"done{p=\"a\"} 1000\ndone{p=\"b\"} 5\n", "done{p=\"b\"} 6\n",
        "done{p=\"a\"} 1002\ndone{p=\"b\"} 7\n"},
       4},
      {"one that goes takes no growth away",
       {"done{p=\"a\"} 1000\ndone{p=\"b\"} 5\n", "done{p=\"a\"} 1010\ndone{p=\"b\"} 5\n",
        "done{p=\"b\"} 6\n"},
       11},
      {"a new one counts from what it has",
       {"done{p=\"b\"} 5\n", "done{p=\"a\"} 1000\ndone{p=\"b\"} 6\n",
        "done{p=\"a\"} 1001\ndone{p=\"b\"} 7\n"},
       3},
      {"one that begins anew has counted all that it has, and the other goes on",
       {"done{p=\"a\"} 1000\ndone{p=\"b\"} 5\n", "done{p=\"a\"} 20\ndone{p=\"b\"} 9\n"},
       24},
      {"missing for as long as may be",
       {"done{p=\"a\"} 1000\n", "done{p=\"b\"} 1\n", "done{p=\"b\"} 1\n", "done{p=\"a\"} 1009\n"},
       9},
      {"missing for longer: a new one",
       {"done{p=\"a\"} 1000\n", "done{p=\"b\"} 1\n", "done{p=\"b\"} 1\n", "done{p=\"b\"} 1\n",
        "done{p=\"a\"} 1009\n"},
       0},
      {"no page for longer: all are new",
       {"done{p=\"a\"} 10\n", "", "", "", "done{p=\"a\"} 99\n"},
       0},
      {"labels in another order, and an empty one, are the same series",
       {"done{p=\"a\",q=\"b\"} 10\n", "done{q=\"b\",r=\"\",p=\"a\"} 12\n"},
       2},
      {"labels that look alike are others",
       {"done{p=\"a,q=b\"} 10\n", "done{p=\"a\",q=\"b\"} 12\n"},
       0},
      {"others of the page do not count",
       {"done{p=\"a\"} 10\nother 7\n", "done{p=\"a\"} 11\nother 99\n"},
       1},
  };
  for (const auto& row : rows) {
    SelectedGrowth growth = Follow("done");
    absl::StatusOr<double> total = -1;
    for (size_t i = 0; i < row.pages.size(); ++i) {
      if (*row.pages[i] == '\0') continue;
      total = TakeAt(growth, static_cast<int>(i) * 10, row.pages[i]);
      ASSERT_TRUE(total.ok()) << row.name << ": " << total.status();
    }
    EXPECT_EQ(*total, row.want) << row.name;
  }
}

TEST(SeriesGrowth, FirstRequestsCountIfAbsentIsZero) {
  const struct {
    const char* name;
    std::vector<const char*> pages;  // 10 s apart; empty: the fetch failed
    double want;
  } rows[] = {
      {"nothing yet", {"other 7\n", "other 8\n"}, 0},
      {"its first requests", {"other 7\n", "done{p=\"a\"} 2\n", "done{p=\"a\"} 3\n"}, 3},
      {"the first page is where they start, all the same", {"done{p=\"a\"} 1000\n"}, 0},
      {"one page without it: what it has is no growth",
       {"done{p=\"a\"} 1000\n", "other 7\n", "done{p=\"a\"} 1001\n"},
       1},
      {"it began anew, and had none meanwhile",
       {"done{p=\"a\"} 1000\n", "other 7\n", "other 7\n", "other 7\n", "done{p=\"a\"} 4\n"},
       4},
      {"no page for longer: what it counted may be of any time",
       {"other 7\n", "", "", "", "done{p=\"a\"} 50\n"},
       0},
      {"a new one beside another counts from what it has",
       {"done{p=\"b\"} 5\n", "done{p=\"a\"} 1000\ndone{p=\"b\"} 6\n"},
       1},
  };
  for (const auto& row : rows) {
    SelectedGrowth growth = Follow("done", /*zero_if_absent=*/true);
    absl::StatusOr<double> total = -1;
    for (size_t i = 0; i < row.pages.size(); ++i) {
      if (*row.pages[i] == '\0') continue;
      total = TakeAt(growth, static_cast<int>(i) * 10, row.pages[i]);
      ASSERT_TRUE(total.ok()) << row.name << ": " << total.status();
    }
    EXPECT_EQ(*total, row.want) << row.name;
  }
}

TEST(SeriesGrowth, GrowthOverAWindowIsTheRate) {
  SelectedGrowth growth = Follow("done{p=~\"a|b\"}");
  std::vector<CounterPoint> points;
  for (const char* page : {"done{p=\"a\"} 5000\ndone{p=\"b\"} 10\n", "done{p=\"b\"} 40\n",
                           "done{p=\"a\"} 5030\ndone{p=\"b\"} 40\n"}) {
    const absl::Time at = kFirstPage + static_cast<int>(points.size()) * absl::Seconds(10);
    const auto point = growth.Take(at, page);
    ASSERT_TRUE(point.ok()) << point.status();
    points.push_back(*point);
  }
  const auto rate =
      CounterGrowth(points, {.window = absl::Seconds(20), .max_gap = kLongestGap}).EndingAt(2);
  ASSERT_TRUE(rate.has_value());
  EXPECT_EQ(rate->PerSecond(), 3);
}

TEST(SeriesGrowth, ExpositionWithAnErrorIsIgnored) {
  const struct {
    const char* page;
    absl::StatusCode want;
  } rows[] = {
      {"done{p=\"a\"} 500", absl::StatusCode::kInvalidArgument},
      {"other 1\n", absl::StatusCode::kNotFound},
      {"done{p=\"a\"} 500\ndone{p=\"b\"} NaN\n", absl::StatusCode::kFailedPrecondition},
      {"done{p=\"a\"} 500\ndone{p=\"b\"} +Inf\n", absl::StatusCode::kFailedPrecondition},
      {"done{p=\"a\"} -3\n", absl::StatusCode::kFailedPrecondition},
      {"done{p=\"a\"} 500\ndone{p=\"a\"} 500\n", absl::StatusCode::kInvalidArgument},
  };
  SelectedGrowth growth = Follow("done");
  ASSERT_TRUE(TakeAt(growth, 0, "done{p=\"a\"} 1\n").ok());
  for (const auto& row : rows) {
    EXPECT_EQ(TakeAt(growth, 5, row.page).status().code(), row.want) << row.page;
  }
  EXPECT_EQ(*TakeAt(growth, 10, "done{p=\"a\"} 4\n"), 3);
}

std::string PageOf(size_t series, absl::string_view pod, int value) {
  std::string page;
  for (size_t i = 0; i < series; ++i) {
    absl::StrAppend(&page, "done{p=\"", pod, i, "\"} ", value, "\n");
  }
  return page;
}

TEST(SeriesGrowth, TooManySeriesAreAnError) {
  SelectedGrowth growth = Follow("done");
  ASSERT_TRUE(TakeAt(growth, 0, PageOf(kMaxSeries, "a", 1)).ok());
  const auto refused = TakeAt(growth, 1, PageOf(kMaxSeries + 1, "a", 2));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(),
              HasSubstr("more than 1000 series of done on the page: pick fewer by their labels"));
  EXPECT_EQ(*TakeAt(growth, 2, PageOf(kMaxSeries, "a", 3)), 2.0 * kMaxSeries);
}

TEST(SeriesGrowth, BeyondTheLimitMissingSeriesAreForgotten) {
  SelectedGrowth growth = Follow("done");
  ASSERT_TRUE(TakeAt(growth, 0, PageOf(kMaxSeries, "a", 1)).ok());
  ASSERT_TRUE(TakeAt(growth, 1, PageOf(1, "b", 1)).ok());
  EXPECT_EQ(*TakeAt(growth, 2, PageOf(kMaxSeries, "a", 5)), 0) << "all new again";
  EXPECT_EQ(*TakeAt(growth, 3, PageOf(kMaxSeries, "a", 6)), 1.0 * kMaxSeries);
}

}  // namespace
}  // namespace gpuscaler
