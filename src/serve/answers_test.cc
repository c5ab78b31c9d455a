#include "serve/answers.h"

#include <memory>

#include "gtest/gtest.h"
#include "trigger/profile.h"

namespace gpuscaler {
namespace {

TEST(ExplainAnswer, HasTheDemandBehindTheValue) {
  const absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  const auto parsed = std::make_shared<const ParsedTrigger>(
      ParsedTrigger{.trigger = ParseTrigger({{"profile", "vllm-inference"}}, BuiltInProfiles()),
                    .bad_keys = "",
                    .spec = {.metric_name = "m", .target = 80},
                    .wanted = {},
                    .source = {}});
  CachedDecision cached{.own = nullptr, .parsed = parsed, .decision = {}};
  EXPECT_FALSE(ExplainAnswer(cached, now).has_demand());

  cached.decision.demand =
      Demand{.replicas = 3.3, .capacities = {{.gpu_model = "H100", .requests_per_second = 8.5}}};
  cached.decision.by_demand = true;
  cached.decision.batch_limit = 64;
  const gpuscaler::v1::ExplainedDemand known = ExplainAnswer(cached, now).demand();
  EXPECT_EQ(known.replicas(), 3.3);
  EXPECT_TRUE(known.counts());
  EXPECT_EQ(known.batch_limit(), 64);
  ASSERT_EQ(known.capacities_size(), 1);
  EXPECT_EQ(known.capacities(0).gpu_model(), "H100");
  EXPECT_EQ(known.capacities(0).requests_per_second(), 8.5);

  cached.decision.demand = Demand{.unknown_because = "capacity unknown"};
  const gpuscaler::v1::ExplainedDemand unknown = ExplainAnswer(cached, now).demand();
  EXPECT_FALSE(unknown.has_replicas());
  EXPECT_EQ(unknown.unknown_because(), "capacity unknown");
}

}  // namespace
}  // namespace gpuscaler
