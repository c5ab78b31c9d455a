#include "series/page_numbers.h"

#include <vector>

#include "absl/strings/str_cat.h"
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
  void Want(const std::vector<SignalSource>& sources) { WantAt(sources, {"10.0.0.1"}); }
  void WantAt(const std::vector<SignalSource>& sources, const std::vector<std::string>& addresses) {
    NumbersWish wish;
    for (const SignalSource& source : sources) {
      wish.selectors.emplace(source,
                             *ParseMetricSelector(std::get<MetricsPage>(source.place).selector));
    }
    for (const std::string& address : addresses) {
      wish.addresses.push_back(*ParseIpAddress(address));
    }
    numbers_.Want(wish);
  }
  void Take(int second, const absl::StatusOr<Page>& page) {
    First();
    Next(second, page);
  }
  // Which address is asked.
  std::string First() {
    said_.clear();
    return IpAddressText(numbers_.First().address);
  }
  // And which one besides, after that answer; empty: none.
  std::string Next(int second, const absl::StatusOr<Page>& page) {
    const auto next = numbers_.Take(absl::FromUnixSeconds(second), page);
    return next.has_value() ? IpAddressText(next->address) : "";
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

TEST_F(PageNumbersTest, WhatAServerWroteMovesNoTerminal) {
  Want({kSize});
  Take(1, PageOf(absl::StrCat("size \x1b[2J", std::string(1000, 'x'), "\n")));
  const std::string fault(said_.at(kSize).status().message());
  EXPECT_THAT(fault, HasSubstr("gateway:80"));
  EXPECT_EQ(fault.find('\x1b'), std::string::npos) << fault;
  EXPECT_LT(fault.size(), 300u);
}

const absl::Status kRefused = absl::UnavailableError("refused");

TEST_F(PageNumbersTest, TheNextAddressIsAskedAtOnceWhenOneDoesNotAnswer) {
  WantAt({kSize}, {"10.0.0.1", "10.0.0.2", "10.0.0.3"});
  EXPECT_EQ(First(), "10.0.0.1");
  EXPECT_EQ(Next(1, kRefused), "10.0.0.2");
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(Next(1, PageOf("size 3\n")), "");
  EXPECT_EQ(NumberOf(kSize), 3);
  EXPECT_EQ(First(), "10.0.0.2") << "it is kept to";
  EXPECT_EQ(Next(2, absl::DeadlineExceededError("no answer")), "10.0.0.3");
}

TEST_F(PageNumbersTest, AFaultNamesAllThatWereTried) {
  WantAt({kSize}, {"10.0.0.1", "10.0.0.2"});
  First();
  Next(1, absl::UnavailableError("gateway:80 (10.0.0.1): refused"));
  EXPECT_EQ(Next(1, absl::DeadlineExceededError("gateway:80 (10.0.0.2): no answer")), "");
  EXPECT_EQ(said_.at(kSize).status(),
            absl::DeadlineExceededError(
                "gateway:80 (10.0.0.1): refused; gateway:80 (10.0.0.2): no answer"));
}

TEST_F(PageNumbersTest, APollTriesThreeAddressesAndTheNextOneTheOthers) {
  WantAt({kSize}, {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"});
  First();
  Next(1, kRefused);
  Next(1, kRefused);
  EXPECT_EQ(Next(1, kRefused), "");
  EXPECT_EQ(First(), "10.0.0.4");
}

TEST_F(PageNumbersTest, WhatAnAnswerSaysIsNoReasonToAskAnother) {
  WantAt({kSize}, {"10.0.0.1", "10.0.0.2"});
  First();
  EXPECT_EQ(Next(1, absl::NotFoundError("it answers HTTP 404")), "");
  EXPECT_EQ(said_.at(kSize).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PageNumbersTest, WhatAnotherProcessHasCountedIsNoGrowth) {
  WantAt({kServed}, {"10.0.0.1", "10.0.0.2"});
  Take(1, PageOf("served 100\n"));
  Take(2, PageOf("served 110\n"));
  First();
  Next(3, kRefused);
  Next(3, PageOf("served 5000\n"));
  EXPECT_EQ(NumberOf(kServed), 10);
  Take(4, PageOf("served 5010\n"));
  EXPECT_EQ(NumberOf(kServed), 20);
}

TEST_F(PageNumbersTest, AnAddressThatIsStillThereIsKeptToAndOneThatIsGoneIsNot) {
  WantAt({kServed}, {"10.0.0.1"});
  Take(1, PageOf("served 100\n"));
  WantAt({kServed}, {"10.0.0.0", "10.0.0.1"});
  EXPECT_EQ(First(), "10.0.0.1");
  Next(2, PageOf("served 130\n"));
  EXPECT_EQ(NumberOf(kServed), 30) << "it has counted on";
  First();
  WantAt({kServed}, {"10.0.0.0"});
  EXPECT_EQ(Next(3, PageOf("served 140\n")), "");
  EXPECT_THAT(said_, IsEmpty()) << "who is gone has nothing to say any more";
  EXPECT_EQ(First(), "10.0.0.0");
}

}  // namespace
}  // namespace gpuscaler
