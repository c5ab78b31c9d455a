#include "serve/snapshot_log.h"

#include <string>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/snapshot_store.h"

namespace gpuscaler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SnapshotLogTest : public testing::Test {
 protected:
  void Sample() {
    NodeSnapshot snapshot;
    snapshot.taken_at = clock_.Now();
    store_.Put(std::move(snapshot));
  }
  std::string LogChange() {
    testing::internal::CaptureStderr();
    log_.LogChange();
    return testing::internal::GetCapturedStderr();
  }

  FakeClock clock_;
  SnapshotStore store_{clock_, absl::Seconds(6), absl::Minutes(20)};
  SnapshotLog log_{absl::Seconds(6), clock_, store_};
};

TEST_F(SnapshotLogTest, StaleAndFreshAgainAreLoggedOnceEach) {
  Sample();
  EXPECT_THAT(LogChange(), IsEmpty());
  clock_.Advance(absl::Seconds(7));
  EXPECT_THAT(LogChange(), AllOf(HasSubstr("level=warn event=snapshot_stale"),
                                 HasSubstr("age_seconds=7"), HasSubstr("stale_after_seconds=6")));
  clock_.Advance(absl::Seconds(7));
  EXPECT_THAT(LogChange(), IsEmpty());
  Sample();
  EXPECT_THAT(LogChange(), HasSubstr("level=info event=snapshot_fresh"));
  EXPECT_THAT(LogChange(), IsEmpty());
}

TEST_F(SnapshotLogTest, ReasonOfTheSourceIsLogged) {
  Sample();
  clock_.Advance(absl::Seconds(7));
  store_.PutError(absl::UnavailableError("the driver is gone"));
  EXPECT_THAT(LogChange(), HasSubstr("the driver is gone"));
}

TEST_F(SnapshotLogTest, MissingFirstSnapshotIsLoggedAfterADelay) {
  EXPECT_THAT(LogChange(), IsEmpty());
  clock_.Advance(absl::Seconds(7));
  EXPECT_THAT(LogChange(), HasSubstr("no GPU snapshot yet"));
}

}  // namespace
}  // namespace gpuscaler
