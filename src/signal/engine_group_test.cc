#include "signal/engine_group.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

const absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);
const EngineQuestion kWaiting{.metric = EngineMetric::kRequestsWaiting,
                              .look_back = absl::Minutes(1)};
const EnginePlace kFirst{
    .address = "10.0.0.1", .port = 8000, .namespace_name = "team-a", .pod = "llm-0"};
const EnginePlace kSecond{.address = "fd00::2", .port = 8000};

EngineNews Waiting(double waiting, absl::Time at = kNow) {
  return {.at = at, .engine = "vllm", .reading = EngineReading{{{.waiting = waiting}}}};
}

SignalHistory AnswerOf(const EngineGroup& group) {
  return group.Answer(kWaiting, kNow, absl::Seconds(10), [](const EnginePlace&) { return true; });
}

TEST(EngineGroup, HasASeriesForEachEngineAndSaysWhoseItIs) {
  EngineGroup group;
  group.List(std::vector{kFirst, kSecond});
  group.Take(kFirst, Waiting(3));
  const SignalHistory history = AnswerOf(group);
  EXPECT_TRUE(history.status.ok());
  EXPECT_THAT(history.series,
              ElementsAre(AllOf(Field(&SignalSeries::name, "vllm at 10.0.0.1:8000"),
                                Field(&SignalSeries::namespace_name, "team-a"),
                                Field(&SignalSeries::pod, "llm-0"),
                                Field(&SignalSeries::address, "10.0.0.1"),
                                Field(&SignalSeries::points, ElementsAre(SignalPoint{kNow, 3}))),
                          AllOf(Field(&SignalSeries::name, "engine at [fd00::2]:8000"),
                                Field(&SignalSeries::gap, "not read yet"))));
}

TEST(EngineGroup, OnlyThoseThatCountAreTold) {
  EngineGroup group;
  group.List(std::vector{kFirst, kSecond});
  const SignalHistory history =
      group.Answer(kWaiting, kNow, absl::Seconds(10),
                   [](const EnginePlace& place) { return place.pod == "llm-0"; });
  EXPECT_THAT(history.series, ElementsAre(Field(&SignalSeries::address, "10.0.0.1")));
}

TEST(EngineGroup, WhatIsNoLongerListedIsForgotten) {
  EngineGroup group;
  group.List(std::vector{kFirst});
  group.Take(kFirst, Waiting(3));
  group.List(std::vector{kSecond});
  group.Take(kFirst, Waiting(4, kNow + absl::Seconds(1)));
  EXPECT_THAT(AnswerOf(group).series, ElementsAre(Field(&SignalSeries::address, "fd00::2")));
  group.List(std::vector{kFirst});
  EXPECT_THAT(AnswerOf(group).series, ElementsAre(Field(&SignalSeries::gap, "not read yet")));
}

TEST(EngineGroup, AnErrorKeepsThoseThatAreKnownAndIsTold) {
  EngineGroup group;
  EXPECT_EQ(AnswerOf(group).status.code(), absl::StatusCode::kUnavailable);
  group.List(std::vector{kFirst});
  group.Take(kFirst, Waiting(3));
  group.List(absl::UnavailableError("llm.team-a.svc: no answer"));
  const SignalHistory history = AnswerOf(group);
  EXPECT_THAT(std::string(history.status.message()), HasSubstr("no answer"));
  EXPECT_THAT(history.series,
              ElementsAre(Field(&SignalSeries::points, ElementsAre(SignalPoint{kNow, 3}))));
}

TEST(EngineGroup, AnEngineThatJoinsKeepsTheModelsThatAreAskedFor) {
  EngineGroup group;
  group.Keep("llama");
  group.List(std::vector{kFirst});
  group.Take(kFirst, {.at = kNow,
                      .engine = "vllm",
                      .reading = EngineReading{
                          {{.model = "llama", .waiting = 1}, {.model = "qwen", .waiting = 2}}}});
  EngineQuestion of_llama = kWaiting;
  of_llama.model = "llama";
  const SignalHistory history =
      group.Answer(of_llama, kNow, absl::Seconds(10), [](const EnginePlace&) { return true; });
  EXPECT_THAT(history.series,
              ElementsAre(Field(&SignalSeries::points, ElementsAre(SignalPoint{kNow, 1}))));
}

TEST(EngineGroup, MoreThanAnySourceHasAreAnErrorAndBounded) {
  EngineGroup group;
  std::vector<EnginePlace> places;
  for (int port = 0; port <= static_cast<int>(kMostEngines); ++port) {
    places.push_back({.address = "10.0.0.1", .port = port});
  }
  group.List(places);
  EXPECT_EQ(AnswerOf(group).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(AnswerOf(group).series, SizeIs(kMostEngines));
}

}  // namespace
}  // namespace gpuscaler
