#include "role/cost_recorder.h"

#include <string>
#include <utility>

#include "base/fake_clock.h"
#include "base/test_folder.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/free_gpus.h"
#include "model/snapshot_store.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

class CostRecorderTest : public testing::Test {
 protected:
  // One H100 is busy for a minute.
  void RecordMinute(CostRecorder& costs) {
    for (int second = 0; second <= 60; second += 5) {
      NodeSnapshot snapshot = SnapshotOf(1, clock_.Now());
      AddPods(snapshot);
      MarkFreeGpus(snapshot);
      store_.Put(std::move(snapshot));
      costs.Tick();
      clock_.Advance(absl::Seconds(5));
    }
  }

  FakeClock clock_;
  SnapshotStore store_{clock_, absl::Seconds(30), absl::Minutes(15)};
  const TestFolder folder_;
};

TEST_F(CostRecorderTest, CountsTheTimeOfTheFleet) {
  CostRecorder costs(clock_, store_, {.stale_after = absl::Seconds(6)}, nullptr);
  costs.Tick();  // nothing is known yet
  RecordMinute(costs);
  const CostReport report = costs.Report(24, GroupBy::kNamespace);
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.rows[0].key, "team-a");
  EXPECT_EQ(report.rows[0].times[GpuState::kBusy], 60'000'000);
  EXPECT_FALSE(report.rows[0].cost.has_value());
}

TEST_F(CostRecorderTest, PricesAreReadAgainAndTheLastGoodOnesStay) {
  const std::string file =
      folder_.Write("prices.csv", "GPU model,price per hour\nNVIDIA H100 80GB HBM3,60\n");
  FleetPrices prices(store_, file);
  CostRecorder costs(clock_, store_, {.stale_after = absl::Seconds(6)}, &prices);
  ASSERT_TRUE(prices.Reload().ok()) << prices.Reload();
  RecordMinute(costs);
  EXPECT_EQ(costs.Report(24, GroupBy::kModel).total.cost->Text(), "1.00");
  folder_.Write("prices.csv", "GPU model,price per hour\nNVIDIA H100 80GB HBM3,cheap\n");
  EXPECT_THAT(prices.Reload().message(), HasSubstr(file));
  EXPECT_EQ(costs.Report(24, GroupBy::kModel).total.cost->Text(), "1.00");
}

}  // namespace
}  // namespace gpuscaler
