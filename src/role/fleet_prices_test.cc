#include "role/fleet_prices.h"

#include <string>

#include "base/fake_clock.h"
#include "base/test_folder.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/snapshot_store.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST(FleetPrices, ModelsOfTheFleetHaveThePricesOfTheFile) {
  FakeClock clock;
  SnapshotStore store(clock, absl::Seconds(30), absl::Minutes(15));
  const TestFolder folder;
  FleetPrices prices(
      store, folder.Write("prices.csv",
                          "GPU model,price per hour\nnvidia-h100-80gb-hbm3,2.45\nNVIDIA L4,0.7\n"));
  store.Put(SnapshotOf(1, clock.Now()));
  EXPECT_THAT(prices.ModelPrices(), IsEmpty()) << "no price is read";
  ASSERT_TRUE(prices.Reload().ok()) << prices.Reload();
  EXPECT_THAT(prices.ModelPrices(),
              ElementsAre(Pair("NVIDIA H100 80GB HBM3", HourlyPrice{.micro_units = 2'450'000})));
}

TEST(FleetPrices, UnknownFleetHasNone) {
  FakeClock clock;
  SnapshotStore store(clock, absl::Seconds(30), absl::Minutes(15));
  const TestFolder folder;
  FleetPrices prices(
      store, folder.Write("prices.csv", "GPU model,price per hour\nNVIDIA H100 80GB HBM3,60\n"));
  ASSERT_TRUE(prices.Reload().ok()) << prices.Reload();
  EXPECT_THAT(prices.ModelPrices(), IsEmpty()) << "nothing is read yet";
  store.Put(SnapshotOf(1, clock.Now()));
  EXPECT_THAT(prices.ModelPrices(), SizeIs(1));
  clock.Advance(absl::Seconds(31));
  EXPECT_THAT(prices.ModelPrices(), IsEmpty()) << "the reading is stale";
}

}  // namespace
}  // namespace gpuscaler
