#include "lab/scaler_path.h"

#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(ScalerPathOf, IsThatOfTheBuildFolder) {
  const TestFolder folder;
  const std::filesystem::path root = folder.path();
  const std::filesystem::path lab = root / "build/src/lab/keda-gpu-scaler-lab";
  EXPECT_EQ(ScalerPathOf(lab, root), "keda-gpu-scaler") << "it is not built";
  const std::filesystem::path app = root / "build/src/app";
  std::filesystem::create_directories(app);
  const std::string scaler = folder.Write("build/src/app/keda-gpu-scaler", "");
  EXPECT_EQ(ScalerPathOf(lab, root), "build/src/app/keda-gpu-scaler");
  EXPECT_EQ(ScalerPathOf(lab, root / "build/src/lab"), scaler) << "it is not below";
  EXPECT_EQ(ScalerPathOf(lab, app), scaler) << "a name alone is not run from the current folder";
}

}  // namespace
}  // namespace gpuscaler
