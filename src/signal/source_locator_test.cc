#include "signal/source_locator.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/not_yet.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Waits up to 10 s for the name to resolve; returns the last status.
absl::Status Located(SourceLocator& locator, const SignalSource& source) {
  locator.SetSources({source});
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (IsNotYet(locator.Locate(source).status()) && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  return locator.Locate(source).status();
}

TEST(SourceLocator, AliasIsBoundToSchemeHostAndPort) {
  const struct {
    decltype(SignalSource::target) target;
    const char* origin;
  } cases[] = {
      {EngineEndpoint{.url = "http://127.0.0.1"}, "http://127.0.0.1:80"},
      {EngineEndpoint{.url = "http://127.0.0.1", .engine = "vllm"}, "http://127.0.0.1:8000"},
      {EngineEndpoint{.url = "https://127.0.0.1"}, "https://127.0.0.1:443"},
      {MetricsEndpoint{.url = "https://127.0.0.1:8443/a", .selector = "b"},
       "https://127.0.0.1:8443"},
      {RedisQueue{.address = "127.0.0.1", .key = "a"}, "redis://127.0.0.1:6379"},
      {RedisQueue{.address = "127.0.0.1:1", .tls = true, .key = "a"}, "rediss://127.0.0.1:1"},
  };
  const TestFolder folder;
  folder.Write("ours/namespaces", "team-a");
  SourceLocator locator({.rules = EndpointRules(*ParseAllowedEndpoints("127.0.0.1")),
                         .credential_folder = folder.path()},
                        [] {});
  for (const auto& each : cases) {
    const SignalSource source = {
        .namespace_name = "team-a", .target = each.target, .credentials = {.alias = "ours"}};
    folder.Write("ours/hosts", "redis://127.0.0.1:2, http://127.0.0.1:2, https://127.0.0.1:2");
    EXPECT_THAT(Located(locator, source).ToString(),
                AllOf(HasSubstr("PERMISSION_DENIED"),
                      HasSubstr(absl::StrCat("not to be sent to ", each.origin))));
    folder.Write("ours/hosts", each.origin);
    EXPECT_EQ(Located(locator, source), absl::OkStatus()) << each.origin;
  }
}

}  // namespace
}  // namespace gpuscaler
