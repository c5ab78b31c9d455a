#include "gpu/exporter_collection_detector.h"

#include "gpu/dcgm_schema.h"
#include "gpu/test_dcgm_exposition.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

ExporterExposition PageWith(int energy0, int energy1) {
  return ReadExporterExposition(
             DcgmSchema(),
             DcgmExpositionOf({{.labels = DcgmLabels(0, kTestUuid0), .energy_mj = energy0},
                               {.labels = DcgmLabels(1, kTestUuid1), .energy_mj = energy1}}),
             ExpositionFormat::kText)
      .value();
}

ExporterExposition PageWithoutEnergy() {
  return ReadExporterExposition(DcgmSchema(),
                                DcgmLine("DCGM_FI_DEV_GPU_UTIL", DcgmLabels(0, kTestUuid0), "5"),
                                ExpositionFormat::kText)
      .value();
}

TEST(ExporterCollectionDetector, PageIsNewIfAnyCounterChanged) {
  ExporterCollectionDetector detector;
  EXPECT_TRUE(detector.Update(PageWith(10, 20)));
  EXPECT_FALSE(detector.Update(PageWith(10, 20)));
  EXPECT_TRUE(detector.Update(PageWith(11, 20)));
  EXPECT_TRUE(detector.Update(PageWith(1, 1)));  // the driver was loaded again
  EXPECT_FALSE(detector.Update(PageWith(1, 1)));
  EXPECT_TRUE(detector.has_energy());
}

TEST(ExporterCollectionDetector, PageWithoutCountersIsAlwaysNew) {
  ExporterCollectionDetector detector;
  EXPECT_TRUE(detector.Update(PageWithoutEnergy()));
  EXPECT_TRUE(detector.Update(PageWithoutEnergy()));
  EXPECT_FALSE(detector.has_energy());
  EXPECT_FALSE(detector.RepeatsOldValue(PageWithoutEnergy().devices[0]));
}

TEST(ExporterCollectionDetector, GpuRepeatsOldValueWhileOnlyOtherCountersChange) {
  ExporterCollectionDetector detector;
  detector.Update(PageWith(10, 20));
  for (int i = 1; i <= 2; ++i) {
    detector.Update(PageWith(10 + i, 20));
    EXPECT_FALSE(detector.RepeatsOldValue(PageWith(0, 0).devices[1])) << i;
  }
  detector.Update(PageWith(13, 20));
  EXPECT_TRUE(detector.RepeatsOldValue(PageWith(0, 0).devices[1]));
  EXPECT_FALSE(detector.RepeatsOldValue(PageWith(0, 0).devices[0]));
  detector.Update(PageWith(13, 20));  // nothing was collected
  EXPECT_FALSE(detector.RepeatsOldValue(PageWith(0, 0).devices[0]));
  detector.Update(PageWith(14, 21));
  EXPECT_FALSE(detector.RepeatsOldValue(PageWith(0, 0).devices[1]));
}

}  // namespace
}  // namespace gpuscaler
