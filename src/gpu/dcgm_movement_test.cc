#include "gpu/dcgm_movement.h"

#include "gpu/test_dcgm_exposition.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

DcgmExposition PageWith(int energy0, int energy1) {
  return ReadDcgmExposition(
             DcgmExpositionOf({{.labels = DcgmLabels(0, kTestUuid0), .energy_mj = energy0},
                               {.labels = DcgmLabels(1, kTestUuid1), .energy_mj = energy1}}),
             ExpositionFormat::kText)
      .value();
}

DcgmExposition PageWithoutEnergy() {
  return ReadDcgmExposition(DcgmLine("DCGM_FI_DEV_GPU_UTIL", DcgmLabels(0, kTestUuid0), "5"),
                            ExpositionFormat::kText)
      .value();
}

TEST(DcgmMovement, PageIsNewIfAnyCounterChanged) {
  DcgmMovement movement;
  EXPECT_TRUE(movement.Look(PageWith(10, 20)));
  EXPECT_FALSE(movement.Look(PageWith(10, 20)));
  EXPECT_TRUE(movement.Look(PageWith(11, 20)));
  EXPECT_TRUE(movement.Look(PageWith(1, 1)));  // the driver was loaded again
  EXPECT_FALSE(movement.Look(PageWith(1, 1)));
  EXPECT_TRUE(movement.can_tell());
}

TEST(DcgmMovement, PageWithoutCountersIsAlwaysNew) {
  DcgmMovement movement;
  EXPECT_TRUE(movement.Look(PageWithoutEnergy()));
  EXPECT_TRUE(movement.Look(PageWithoutEnergy()));
  EXPECT_FALSE(movement.can_tell());
  EXPECT_FALSE(movement.IsSteady(PageWithoutEnergy().devices[0]));
}

TEST(DcgmMovement, GpuIsSteadyWhileOnlyOtherCountersChange) {
  DcgmMovement movement;
  movement.Look(PageWith(10, 20));
  for (int i = 1; i <= 2; ++i) {
    movement.Look(PageWith(10 + i, 20));
    EXPECT_FALSE(movement.IsSteady(PageWith(0, 0).devices[1])) << i;
  }
  movement.Look(PageWith(13, 20));
  EXPECT_TRUE(movement.IsSteady(PageWith(0, 0).devices[1]));
  EXPECT_FALSE(movement.IsSteady(PageWith(0, 0).devices[0]));
  movement.Look(PageWith(13, 20));  // nothing was collected
  EXPECT_FALSE(movement.IsSteady(PageWith(0, 0).devices[0]));
  movement.Look(PageWith(14, 21));
  EXPECT_FALSE(movement.IsSteady(PageWith(0, 0).devices[1]));
}

}  // namespace
}  // namespace gpuscaler
