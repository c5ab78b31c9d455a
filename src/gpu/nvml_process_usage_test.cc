#include "gpu/nvml_process_usage.h"

#include <vector>

#include "gpu/fake_driver.h"
#include "gpu/nvml_library.h"
#include "gpu/nvml_source.h"
#include "gtest/gtest.h"

namespace gpuscaler::nvml {
namespace {

using Json = FakeDriver::Json;
using Percents = std::vector<std::optional<double>>;

// GPU 0 of the fake driver, with the processes 7 and 8.
class ProcessUsageTest : public testing::Test {
 protected:
  ProcessUsageTest() : library_(*Library::Load(FakeDriver::New())) {
    EXPECT_EQ(library_->calls().init(), kSuccess);
    EXPECT_EQ(library_->calls().handle_by_index(0, &device_), kSuccess);
  }
  ~ProcessUsageTest() override { library_->calls().shutdown(); }

  Percents Read(const Json& samples, const std::vector<int64_t>& pids = {7, 8}) {
    driver_.Gpu(0).erase("process_samples");
    if (!samples.is_null()) driver_.Gpu(0)["process_samples"] = samples;
    driver_.Save();
    std::vector<GpuProcess> processes;
    for (const int64_t pid : pids) processes.push_back({.pid = pid});
    usage_.Read(library_->calls(), device_, processes);
    Percents percents;
    for (const GpuProcess& process : processes) percents.push_back(process.utilization_percent);
    return percents;
  }

  FakeDriver driver_;
  const std::unique_ptr<Library> library_;
  Device device_ = nullptr;
  ProcessUsage usage_;
};

TEST_F(ProcessUsageTest, IsTheUtilizationSinceTheLastReading) {
  EXPECT_EQ(Read({{9'000'000, 7, 60}, {9'000'000, 8, 20}}), (Percents{60, 20}));
  EXPECT_EQ(Read({{9'000'000, 7, 60}, {9'000'000, 8, 20}, {9'500'000, 8, 30}}), (Percents{0, 30}));
}

TEST_F(ProcessUsageTest, AllAreIdleWithoutNewSamples) {
  Read({{9'000'000, 7, 60}});
  EXPECT_EQ(Read({{9'000'000, 7, 60}}), (Percents{0, 0}));
}

TEST_F(ProcessUsageTest, FirstReadingLooksBackASecondOnly) {
  EXPECT_EQ(Read({{3'000'000, 7, 60}, {9'000'000, 8, 20}}), (Percents{0, 20}));
}

TEST_F(ProcessUsageTest, SamplesOfAProcessAreAveraged) {
  EXPECT_EQ(Read({{8'900'000, 7, 40}, {9'000'000, 7, 60}}), (Percents{50, 0}));
}

TEST_F(ProcessUsageTest, ImpossiblePercentIsIgnored) {
  EXPECT_EQ(Read({{9'000'000, 7, 4'000'000'000}, {9'000'000, 8, 20}}), (Percents{0, 20}));
}

TEST_F(ProcessUsageTest, ManyProcessesAreReadCompletely) {
  Json samples;
  for (int pid = 1; pid <= 1000; ++pid) samples.push_back({9'000'000, pid, 1});
  EXPECT_EQ(Read(samples, {7, 1000}), (Percents{1, 1}));
}

TEST_F(ProcessUsageTest, IsUnknownIfTheDriverDoesNotSupportIt) {
  EXPECT_EQ(Read(nullptr), (Percents{std::nullopt, std::nullopt}));
  const NvmlFunctions none{};
  std::vector<GpuProcess> processes = {{.pid = 7}, {.pid = 8}};
  usage_.Read(none, nullptr, processes);
  EXPECT_EQ(processes[0].utilization_percent, std::nullopt);
}

TEST_F(ProcessUsageTest, SingleProcessIsNotQueried) {
  EXPECT_EQ(Read({{9'000'000, 7, 60}}, {7}), (Percents{std::nullopt}));
}

}  // namespace
}  // namespace gpuscaler::nvml
