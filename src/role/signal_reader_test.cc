#include "role/signal_reader.h"

#include "base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

void LeaseSource(SignalReader& reader, const Clock& clock) {
  const SignalSource source{.namespace_name = "team-a",
                            .target = MetricsEndpoint{.url = "http://127.0.0.1:1"}};
  const EngineQuery query{.look_back = absl::Seconds(30)};
  const absl::Time now = clock.Now();
  ASSERT_TRUE(reader.store().Lease(source, query, now, now + absl::Minutes(5)).ok());
}

TEST(SignalReader, ThreadsStartWithTheFirstSource) {
  const SteadyClock clock;
  SignalReader reader(Config(), clock);
  LeaseSource(reader, clock);
  EXPECT_THAT(reader.ReleaseThreads(), SizeIs(1));
}

TEST(SignalReader, NoThreadStartsAfterTheirRelease) {
  const SteadyClock clock;
  SignalReader reader(Config(), clock);
  EXPECT_THAT(reader.ReleaseThreads(), IsEmpty());
  LeaseSource(reader, clock);
  EXPECT_THAT(reader.ReleaseThreads(), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
