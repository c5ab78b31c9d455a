#include "engine/scraped_numbers.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const SignalSource kSize{.namespace_name = "team-a",
                         .target = MetricsEndpoint{.url = "http://gateway", .selector = "size"}};
const SignalSource kServed{
    .namespace_name = "team-a",
    .target = MetricsEndpoint{.url = "http://gateway", .selector = "served", .rate = true}};

const IpAddress kAddress = *ParseIpAddress("10.0.0.1");

class ScrapedNumbersTest : public testing::Test {
 protected:
  void SetInterest(const std::vector<SignalSource>& sources) {
    NumbersInterest interest;
    for (const SignalSource& source : sources) {
      interest.emplace(source,
                       *ParseMetricSelector(std::get<MetricsEndpoint>(source.target).selector));
    }
    numbers_.SetInterest(interest);
  }
  void Take(int second, const absl::StatusOr<Page>& page) {
    observed_.clear();
    EXPECT_EQ(numbers_.FirstRequest().server.address, kAddress);
    EXPECT_FALSE(numbers_.Take(absl::FromUnixSeconds(second), page).has_value());
  }
  static Page PageOf(const std::string& body) { return {.body = body}; }
  double NumberOf(const SignalSource& source) const { return observed_.at(source)->value; }

  std::map<SignalSource, absl::StatusOr<CounterPoint>> observed_;
  ScrapedNumbers numbers_{{.server = {.host = "gateway", .address = kAddress, .port = 80}},
                          absl::Seconds(10),
                          [this](const SignalSource& source, const IpAddress& address,
                                 const absl::StatusOr<CounterPoint>& number) {
                            EXPECT_EQ(address, kAddress);
                            observed_.insert_or_assign(source, number);
                          }};
};

TEST_F(ScrapedNumbersTest, ReportsEachSourceItsNumber) {
  SetInterest({kSize, kServed});
  Take(1, PageOf("size{a=\"1\"} 3\nsize{a=\"2\"} 4\nserved 100\n"));
  EXPECT_EQ(NumberOf(kSize), 7);
  EXPECT_EQ(NumberOf(kServed), 0) << "growth begins with the first page";
  Take(2, PageOf("size 5\nserved 130\n"));
  EXPECT_EQ(NumberOf(kSize), 5);
  EXPECT_EQ(NumberOf(kServed), 30);
  EXPECT_EQ(observed_.at(kServed)->instant.at, absl::FromUnixSeconds(2));
}

TEST_F(ScrapedNumbersTest, MissingSeriesAffectsItsSourceOnly) {
  SetInterest({kSize, kServed});
  Take(1, PageOf("size 3\n"));
  EXPECT_EQ(NumberOf(kSize), 3);
  EXPECT_EQ(observed_.at(kServed).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(observed_.at(kServed).status().message()), HasSubstr("gateway:80"));
}

TEST_F(ScrapedNumbersTest, MissingSeriesIsZeroIfConfigured) {
  const auto saying_zero = [](SignalSource source) {
    std::get<MetricsEndpoint>(source.target).zero_if_absent = true;
    return source;
  };
  const SignalSource size = saying_zero(kSize), served = saying_zero(kServed);
  SetInterest({kSize, size, served});
  Take(1, PageOf("other 3\n"));
  EXPECT_EQ(NumberOf(size), 0);
  EXPECT_EQ(NumberOf(served), 0);
  EXPECT_EQ(observed_.at(kSize).status().code(), absl::StatusCode::kNotFound);
  Take(2, PageOf("size 4\nserved 1\n"));
  EXPECT_EQ(NumberOf(size), 4);
  EXPECT_EQ(NumberOf(served), 1) << "the first request";
  for (const absl::StatusOr<Page>& unread :
       {absl::StatusOr<Page>(absl::UnavailableError("refused")),
        absl::StatusOr<Page>(PageOf("other 3")), absl::StatusOr<Page>(PageOf(""))}) {
    Take(3, unread);
    for (const SignalSource& source : {size, served}) EXPECT_FALSE(observed_.at(source).ok());
  }
}

TEST_F(ScrapedNumbersTest, FetchErrorIsReportedToAllSources) {
  SetInterest({kSize, kServed});
  Take(1, absl::UnavailableError("gateway:80: refused"));
  for (const SignalSource& source : {kSize, kServed}) {
    EXPECT_EQ(observed_.at(source).status(), absl::UnavailableError("gateway:80: refused"));
  }
}

TEST_F(ScrapedNumbersTest, NewSourceGetsTheLastFetchErrorAtOnce) {
  const absl::Status refused = absl::UnavailableError("gateway:80: refused");
  SetInterest({kSize});
  Take(1, refused);
  observed_.clear();
  SetInterest({kSize, kServed});
  ASSERT_EQ(observed_.size(), 1u);
  EXPECT_EQ(observed_.at(kServed).status(), refused);
  Take(2, PageOf("size 3\nserved 1\n"));
  SetInterest({kSize});
  observed_.clear();
  SetInterest({kSize, kServed});
  EXPECT_THAT(observed_, IsEmpty()) << "it can be read by now";
}

// One of ten attempts must pass, because the machine may pause.
TEST_F(ScrapedNumbersTest, SetInterestDoesNotWaitForParsing) {
  const SteadyClock real;
  const SignalSource slow{
      .namespace_name = "team-a",
      .target =
          MetricsEndpoint{.url = "http://gateway",
                          .selector = "a{x=~\"(?:(?:[ab]*a[ab]{100})|(?:[ab]*b[ab]{101}))c\"}"}};
  SetInterest({slow});
  std::string page;
  for (int i = 0; i < 30; ++i) absl::StrAppend(&page, "a{x=\"", std::string(3000, 'b'), "\"} 1\n");
  absl::Duration reading, waiting;
  for (int tried = 0; tried < 10 && (tried == 0 || waiting > reading / 2); ++tried) {
    std::atomic<bool> done = false;
    waiting = absl::ZeroDuration();
    std::thread taking([&] {
      const absl::Time before = real.Now();
      numbers_.Take(before, PageOf(page));
      reading = real.Now() - before;
      done = true;
    });
    while (!done) {
      const absl::Time before = real.Now();
      SetInterest({slow});
      waiting = std::max(waiting, real.Now() - before);
    }
    taking.join();
  }
  EXPECT_LE(waiting, reading / 2);
}

TEST_F(ScrapedNumbersTest, RemovedSourceGetsNothingAndRestarts) {
  SetInterest({kServed});
  Take(1, PageOf("served 100\n"));
  SetInterest({});
  Take(2, PageOf("served 130\n"));
  EXPECT_THAT(observed_, IsEmpty());
  SetInterest({kServed});
  Take(3, PageOf("served 150\n"));
  EXPECT_EQ(NumberOf(kServed), 0);
}

TEST_F(ScrapedNumbersTest, RemainingSourceContinues) {
  SetInterest({kServed});
  Take(1, PageOf("served 100\n"));
  SetInterest({kSize, kServed});
  Take(2, PageOf("size 1\nserved 130\n"));
  EXPECT_EQ(NumberOf(kServed), 30);
}

TEST_F(ScrapedNumbersTest, ControlCharactersOfAServerAreReplaced) {
  SetInterest({kSize});
  Take(1, PageOf(absl::StrCat("size \x1b[2J", std::string(1000, 'x'), "\n")));
  const std::string fault(observed_.at(kSize).status().message());
  EXPECT_THAT(fault, HasSubstr("gateway:80"));
  EXPECT_EQ(fault.find('\x1b'), std::string::npos) << fault;
  EXPECT_LT(fault.size(), 300u);
}

}  // namespace
}  // namespace gpuscaler
