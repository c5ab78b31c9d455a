#include "page/series_queries.h"

#include <deque>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/gauge_sum.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

// Takes RE2's worst-case time for each character of a label.
constexpr char kSlowRegex[] = "(?:(?:[ab]*a[ab]{100})|(?:[ab]*b[ab]{101}))c";

class SeriesQueriesTest : public testing::Test {
 protected:
  void Query(absl::string_view selector, const std::string& tenant = "team-a",
             bool zero_if_absent = false) {
    selectors_.push_back(*ParseMetricSelector(selector));
    queries_.push_back({.selector = &selectors_.back(),
                        .consumer = &sums_.emplace_back(),
                        .zero_if_absent = zero_if_absent,
                        .tenant = tenant});
  }
  std::vector<absl::StatusOr<double>> Read(absl::string_view page) {
    const std::vector<absl::Status> read = ReadSeries(page, ExpositionFormat::kText, queries_);
    std::vector<absl::StatusOr<double>> sums;
    for (size_t i = 0; i < read.size(); ++i) {
      sums.push_back(read[i].ok() ? sums_[i].Sum(selectors_[i]) : read[i]);
    }
    return sums;
  }
  // A page on which kSlowRegex takes more than half of a tenant's steps, but not all.
  static std::string PageForMoreThanHalf() {
    constexpr size_t kLength = 3000;
    const MetricSelector slow = *ParseMetricSelector(absl::StrCat("a{x=~\"", kSlowRegex, "\"}"));
    const auto program = static_cast<size_t>(slow.matchers.front().regex->ProgramSize());
    std::string page = "plain 3\n";
    for (size_t steps = 0; steps < kMaxRegexSteps / 3 * 2; steps += kLength * program) {
      absl::StrAppend(&page, "a{x=\"", std::string(kLength, 'b'), "\"} 1\n");
    }
    return page;
  }
  void QuerySlow(const std::string& tenant) {
    Query(absl::StrCat("a{x=~\"", kSlowRegex, "\"}"), tenant, /*zero_if_absent=*/true);
  }

  std::deque<MetricSelector> selectors_;
  std::deque<GaugeSum> sums_;
  std::vector<SeriesQuery> queries_;
};

TEST_F(SeriesQueriesTest, EachQueryHasItsOwnSumAndError) {
  Query("size{pool=\"chat\"}");
  Query("size");
  Query("missing");
  Query("missing", "team-a", /*zero_if_absent=*/true);
  Query("broken");
  Query("size{pool=~\"e.*\"}", "team-b");
  for (int page = 0; page < 2; ++page) {  // the sums of the first page must not count
    const auto sums = Read("size{pool=\"chat\"} 3\nbroken NaN\nsize{pool=\"embed\"} 10\nother 7\n");
    EXPECT_EQ(sums[0].value_or(-1), 3);
    EXPECT_EQ(sums[1].value_or(-1), 13);
    EXPECT_EQ(sums[2].status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(sums[3].value_or(-1), 0);
    EXPECT_EQ(sums[4].status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(sums[5].value_or(-1), 10);
  }
}

TEST_F(SeriesQueriesTest, LabelsAreMatchedPerSelector) {
  Query("a{pool=\"chat\"}");
  Query("a{pool=\"chat\",route!=\"v1\"}");
  Query("a{route=\"v1\",pool=\"embed\"}");
  Query("a{pool=\"\"}");
  Query("a{pool=\"x \\\"hi\\\"\"}");
  Query("a{pool!=\"chat\"}");
  const auto sums = Read(
      "a{pool=\"chat\",route=\"v1\"} 1\n"
      "a{pool=\"chat\",route=\"v2\"} 2\n"
      "a{pool=\"embed\",route=\"v1\"} 4\n"
      "a{route=\"v1\"} 8\n"
      "a{pool=\"x \\\"hi\\\"\"} 16\n");
  const double want[] = {3, 2, 4, 8, 16, 28};
  for (size_t i = 0; i < std::size(want); ++i) {
    EXPECT_EQ(sums[i].value_or(-1), want[i]) << selectors_[i].text << ": " << sums[i].status();
  }
}

TEST_F(SeriesQueriesTest, TruncatedPageIsAnErrorOfAllQueries) {
  Query("size");
  Query("other", "team-b");
  for (const auto& sum : Read("size 3\nother 7")) {
    EXPECT_EQ(sum.status().code(), absl::StatusCode::kInvalidArgument) << sum.status();
  }
}

TEST_F(SeriesQueriesTest, RegularExpressionsOfATenantShareItsSteps) {
  const std::string page = PageForMoreThanHalf();
  QuerySlow("team-a");
  EXPECT_TRUE(Read(page)[0].ok()) << "alone it has them all: " << Read(page)[0].status();
  QuerySlow("team-a");
  for (const auto& sum : Read(page)) {
    EXPECT_EQ(sum.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(sum.status().message()),
                HasSubstr("too long on this page, in the time that 2 selectors of team-a share"));
  }
}

TEST_F(SeriesQueriesTest, SlowRegexAffectsNeitherOtherTenantsNorOtherSelectors) {
  const std::string page = PageForMoreThanHalf();
  QuerySlow("team-a");
  QuerySlow("team-a");
  QuerySlow("team-b");
  Query("a{x=~\"b+\"}");
  Query("plain");
  const auto sums = Read(page);
  EXPECT_FALSE(sums[0].ok());
  EXPECT_FALSE(sums[1].ok());
  EXPECT_EQ(sums[2].value_or(-1), 0) << sums[2].status();
  EXPECT_GT(sums[3].value_or(-1), 0) << sums[3].status();
  EXPECT_EQ(sums[4].value_or(-1), 3) << sums[4].status();
}

TEST_F(SeriesQueriesTest, RegexIsTriedLast) {
  const std::string page = PageForMoreThanHalf();
  for (int i = 0; i < 3; ++i) {
    Query(absl::StrCat("a{x=~\"", kSlowRegex, "\",pool=\"", i, "\"}"), "team-a",
          /*zero_if_absent=*/true);
  }
  for (const auto& sum : Read(page)) EXPECT_EQ(sum.value_or(-1), 0) << sum.status();
}

}  // namespace
}  // namespace gpuscaler
