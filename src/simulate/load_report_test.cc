#include "simulate/load_report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

LoadTally TallyOf300() {
  LoadTally tally;
  tally.due = 300;
  tally.sent = 290;
  tally.late = 4;
  tally.not_sent = 10;
  tally.answered = 280;
  tally.errors = {{"HTTP 503", 7}, {"timeout", 3}};
  tally.sending = absl::Seconds(30);
  for (int i = 1; i <= 100; ++i) tally.latency.Add(absl::Milliseconds(i));
  return tally;
}

TEST(LoadReport, TextHasRequestedSentAndLost) {
  const std::string text = LoadText("http://x", TallyOf300(), false);
  EXPECT_THAT(text, HasSubstr("requests  300, 10 a second, for 30 s\n"));
  EXPECT_THAT(text,
              HasSubstr("sent      290, 9.667 a second; 4 more than 10 ms after their time\n"));
  EXPECT_THAT(text, HasSubstr("errors    20: 7 HTTP 503, 3 timeout, 10 not sent in time\n"));
  EXPECT_THAT(text,
              HasSubstr("p50 50.2 ms  p95 95.2 ms  p99 99.3 ms  max 100 ms, from the intended"));
  EXPECT_THAT(text, Not(HasSubstr("stopped")));
}

TEST(LoadReport, AnEmptyRunHasNoLatency) {
  EXPECT_THAT(LoadText("http://x", LoadTally(), true), HasSubstr("latency   none\nstopped "));
  const auto json = nlohmann::json::parse(LoadJson("http://x", LoadTally(), true));
  EXPECT_TRUE(json["latency_seconds"].is_null());
  EXPECT_EQ(json["stopped"], true);
}

TEST(LoadReport, JsonHasTheSameNumbers) {
  const auto json = nlohmann::json::parse(LoadJson("http://x", TallyOf300(), false));
  EXPECT_EQ(json["requests"], 300);
  EXPECT_EQ(json["requests_per_second"], 10);
  EXPECT_EQ(json["answered"], 280);
  EXPECT_EQ(json["not_sent"], 10);
  EXPECT_EQ(json["errors"]["timeout"], 3);
  EXPECT_NEAR(json["latency_seconds"]["p95"], 0.095, 0.001);
  EXPECT_EQ(json["latency_seconds"]["max"], 0.1);
}

TEST(LoadReport, LineHasTheProgress) {
  LoadTally tally = TallyOf300();
  tally.in_flight = 12;
  tally.waiting = 3;
  const std::string line = LoadLine(absl::Seconds(7), 10, tally, tally.latency, absl::Seconds(2));
  EXPECT_THAT(line,
              HasSubstr("7s  requests 10/s  answered 50/s  in flight 12  waiting 3  errors 20"));
}

}  // namespace
}  // namespace gpuscaler
