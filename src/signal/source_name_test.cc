#include "signal/source_name.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

std::string NameOfTarget(decltype(SignalSource::target) target) {
  return NameOf({.namespace_name = "team-a",
                 .target = std::move(target),
                 .credentials = {.username = "app",
                                 .password = "hunter2",
                                 .bearer_token = "hunter2",
                                 .ca_pem = "hunter2"}});
}

TEST(SourceName, NamesTheMetricAndItsTarget) {
  EXPECT_EQ(NameOfTarget(DiscoveredEngines{}), "engines found in pods of team-a");
  EXPECT_EQ(NameOfTarget(EngineEndpoint{.url = "http://llm:8000"}), "engines at http://llm:8000");
  EXPECT_EQ(NameOfTarget(EngineEndpoint{.url = "http://llm:8000", .engine = "vllm"}),
            "vllm at http://llm:8000");
  EXPECT_EQ(NameOfTarget(MetricsEndpoint{.url = "http://gateway:9090/metrics",
                                         .selector = "queue{a=\"b\"}"}),
            "queue{a=\"b\"} at http://gateway:9090/metrics");
  EXPECT_EQ(NameOfTarget(MetricsEndpoint{
                .url = "http://gateway:9090/metrics", .selector = "queue", .zero_if_absent = true}),
            "queue (0 if absent) at http://gateway:9090/metrics");
  RedisQueue queue{.address = "redis:6379", .key = "jobs", .group = "workers"};
  EXPECT_EQ(NameOfTarget(queue), "stream jobs at redis:6379");
  queue.length = RedisQueue::Length::kLag;
  EXPECT_EQ(NameOfTarget(queue), "what group workers has not read of stream jobs at redis:6379");
  queue.length = RedisQueue::Length::kPending;
  EXPECT_EQ(NameOfTarget(queue),
            "what group workers has not acknowledged of stream jobs at redis:6379");
  queue.length = RedisQueue::Length::kList;
  EXPECT_EQ(NameOfTarget(queue), "list jobs at redis:6379");
}

TEST(SourceName, OmitsTheQueryWhichMayContainAKey) {
  EXPECT_EQ(NameOfTarget(EngineEndpoint{.url = "http://llm:8000/metrics?key=hunter2"}),
            "engines at http://llm:8000/metrics");
}

}  // namespace
}  // namespace gpuscaler
