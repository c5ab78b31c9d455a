#include "signal/source_place.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SignalSource At(decltype(SignalSource::target) target) {
  return {.namespace_name = "team-a", .target = std::move(target)};
}
SignalSource Redis(const std::string& address) { return At(RedisQueue{.address = address}); }

int PortOf(const SignalSource& source) {
  return gpuscaler::PortOf(source, EndpointOf(source).value());
}

std::string FaultOf(const SignalSource& source, absl::string_view endpoint_key = "endpoint",
                    absl::string_view selector_key = "selector") {
  return CheckSource(source, EndpointRules(AllowedEndpoints()), endpoint_key, selector_key)
      .ToString();
}

TEST(SourcePlace, PortIsTheWrittenOneOrTheDefault) {
  EXPECT_EQ(PortOf(At(EngineEndpoint{.url = "http://llm:1234", .engine = "vllm"})), 1234);
  EXPECT_EQ(PortOf(At(EngineEndpoint{.url = "http://llm", .engine = "vllm"})), 8000);
  EXPECT_EQ(PortOf(At(EngineEndpoint{.url = "http://llm", .engine = "triton"})), 8002);
  EXPECT_EQ(PortOf(At(EngineEndpoint{.url = "http://llm"})), 80);
  EXPECT_EQ(PortOf(At(MetricsEndpoint{.url = "https://gateway"})), 443);
  EXPECT_EQ(PortOf(Redis("redis")), 6379);
  EXPECT_EQ(PortOf(Redis("redis:7000")), 7000);
}

TEST(SourcePlace, RedisIsAHostAndAPort) {
  EXPECT_EQ(EndpointOf(Redis("[fd00::7]:6379"))->host, "fd00::7");
  SignalSource tls = At(RedisQueue{.address = "redis:6380", .tls = true});
  EXPECT_TRUE(EndpointOf(tls)->tls);
  for (const char* address : {"", "redis://redis:6379", "redis:6379/0", "user@redis", "redis:x"}) {
    EXPECT_THAT(EndpointOf(Redis(address)).status().ToString(),
                AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("redis:6379")))
        << address;
  }
}

TEST(SourcePlace, ErrorsNameTheMetadataKey) {
  EXPECT_THAT(FaultOf(At(EngineEndpoint{.url = "ftp://llm"}), "vllmEndpoint"),
              HasSubstr("vllmEndpoint: "));
  EXPECT_THAT(FaultOf(At(MetricsEndpoint{.url = "gateway", .selector = "a"}), "gatewayUrl"),
              HasSubstr("gatewayUrl: "));
  EXPECT_THAT(FaultOf(At(MetricsEndpoint{.url = "http://gateway", .selector = "a{"}), "gatewayUrl",
                      "prometheusMetricFromEnv"),
              HasSubstr("prometheusMetricFromEnv: "));
  EXPECT_THAT(FaultOf(Redis("redis/"), "redisAddress"), HasSubstr("redisAddress: "));
}

TEST(SourcePlace, ErrorOfASelectorFromTheEnvironmentDoesNotShowIt) {
  for (const char* selector : {"hunter2{", "hunter2{a=~\"(\"}", "hunter2 hunter2"}) {
    const SignalSource source = At(MetricsEndpoint{.url = "http://gateway", .selector = selector});
    const std::string fault = FaultOf(source, "gatewayUrl", "prometheusMetricFromEnv");
    EXPECT_THAT(fault, AllOf(HasSubstr("INVALID_ARGUMENT"), Not(HasSubstr("hunter2"))));
  }
}

TEST(SourcePlace, AnotherNamespacesHostIsRefused) {
  EXPECT_THAT(FaultOf(Redis("redis.team-b.svc"), "redisAddress"),
              AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("redisAddress: ")));
  EXPECT_EQ(FaultOf(Redis("redis")), "OK");
  EXPECT_EQ(FaultOf(At(DiscoveredEngines{})), "OK");
}

}  // namespace
}  // namespace gpuscaler
