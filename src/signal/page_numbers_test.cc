#include "signal/page_numbers.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const SignalSource kSize{.namespace_name = "team-a",
                         .place = MetricsPage{.url = "http://gateway", .selector = "size"}};
const SignalSource kServed{
    .namespace_name = "team-a",
    .place = MetricsPage{.url = "http://gateway", .selector = "served", .rate = true}};

class PageNumbersTest : public testing::Test {
 protected:
  void Want(const std::vector<SignalSource>& sources) {
    PageNumbers::Selectors selectors;
    for (const SignalSource& source : sources) {
      selectors.emplace(source, *ParseMetricSelector(std::get<MetricsPage>(source.place).selector));
    }
    numbers_.Want(selectors);
  }
  void Take(int second, const absl::StatusOr<Page>& page) {
    said_.clear();
    numbers_.Take(absl::FromUnixSeconds(second), page);
  }
  static Page PageOf(const std::string& body) { return {.body = body}; }
  double NumberOf(const SignalSource& source) const { return said_.at(source)->value; }

  std::map<SignalSource, absl::StatusOr<CounterPoint>> said_;
  PageNumbers numbers_{
      {.host = "gateway"},
      absl::Seconds(10),
      [this](const SignalSource& source, const absl::StatusOr<CounterPoint>& number) {
        said_.insert_or_assign(source, number);
      }};
};

TEST_F(PageNumbersTest, TellsEachSourceItsOwnNumber) {
  Want({kSize, kServed});
  Take(1, PageOf("size{a=\"1\"} 3\nsize{a=\"2\"} 4\nserved 100\n"));
  EXPECT_EQ(NumberOf(kSize), 7);
  EXPECT_EQ(NumberOf(kServed), 0) << "growth begins with the first page";
  Take(2, PageOf("size 5\nserved 130\n"));
  EXPECT_EQ(NumberOf(kSize), 5);
  EXPECT_EQ(NumberOf(kServed), 30);
  EXPECT_EQ(said_.at(kServed)->instant.at, absl::FromUnixSeconds(2));
}

TEST_F(PageNumbersTest, WhatOneLacksIsNoFaultOfTheOthers) {
  Want({kSize, kServed});
  Take(1, PageOf("size 3\n"));
  EXPECT_EQ(NumberOf(kSize), 3);
  EXPECT_EQ(said_.at(kServed).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(said_.at(kServed).status().message()), HasSubstr("gateway:80"));
}

TEST_F(PageNumbersTest, APageThatIsNotThereIsToldToAll) {
  Want({kSize, kServed});
  Take(1, absl::UnavailableError("gateway:80: refused"));
  for (const SignalSource& source : {kSize, kServed}) {
    EXPECT_EQ(said_.at(source).status(), absl::UnavailableError("gateway:80: refused"));
  }
}

TEST_F(PageNumbersTest, WhoIsNotWantedAnyMoreIsToldNothingAndBeginsAnew) {
  Want({kServed});
  Take(1, PageOf("served 100\n"));
  Want({});
  Take(2, PageOf("served 130\n"));
  EXPECT_THAT(said_, IsEmpty());
  Want({kServed});
  Take(3, PageOf("served 150\n"));
  EXPECT_EQ(NumberOf(kServed), 0);
}

TEST_F(PageNumbersTest, WhoIsStillWantedGoesOn) {
  Want({kServed});
  Take(1, PageOf("served 100\n"));
  Want({kSize, kServed});
  Take(2, PageOf("size 1\nserved 130\n"));
  EXPECT_EQ(NumberOf(kServed), 30);
}

}  // namespace
}  // namespace gpuscaler
