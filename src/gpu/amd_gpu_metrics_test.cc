#include "gpu/amd_gpu_metrics.h"

#include "gmock/gmock.h"
#include "gpu/test_amd_sysfs.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(AmdGpuMetrics, EachVersionHasItsOffsets) {
  const struct {
    uint8_t revision;
    uint16_t size;
    size_t gfx;
    size_t cycles;  // 0: the version has no sums of a known scale
    size_t gfx_sum;
  } rows[] = {
      {1, 96, 16, 0, 0},     {3, 120, 16, 0, 0},     {4, 288, 12, 0, 0},
      {5, 360, 12, 0, 0},    {6, 384, 12, 104, 144}, {6, 1664, 12, 32, 68},
      {7, 2208, 12, 40, 76}, {8, 3360, 12, 40, 76},  {8, 3872, 12, 40, 76},
  };
  for (const auto& row : rows) {
    TestGpuMetrics table(row.revision, row.size);
    table.Set<uint16_t>(row.gfx, 61).Set<uint16_t>(row.gfx + 2, 17);
    if (row.cycles != 0) {
      table.Set<uint32_t>(row.cycles, 900).Set<uint32_t>(row.gfx_sum, 4500);
      table.Set<uint32_t>(row.gfx_sum + 4, 800);
    }
    const AmdGpuMetrics metrics = ParseAmdGpuMetrics(table.bytes());
    const std::string version = absl::StrCat("1.", int{row.revision}, " of ", row.size, " bytes");
    EXPECT_EQ(metrics.gfx_percent, 61) << version;
    EXPECT_EQ(metrics.memory_percent, 17) << version;
    EXPECT_EQ(metrics.cycles.has_value(), row.cycles != 0) << version;
    if (row.cycles == 0) continue;
    EXPECT_EQ(metrics.cycles, 900) << version;
    EXPECT_EQ(metrics.gfx_sum, 4500) << version;
    EXPECT_EQ(metrics.memory_sum, 800) << version;
  }
}

TEST(AmdGpuMetrics, PartitionsHaveTheirOwnDies) {
  const struct {
    uint8_t revision;
    uint16_t size;
    size_t count;
    size_t first;
    size_t stride;
    size_t sums;
  } rows[] = {
      {6, 1664, 306, 312, 168, 104},
      {7, 2208, 338, 344, 232, 104},
      {8, 3360, 338, 344, 376, 120},
      {8, 3872, 338, 344, 440, 120},
  };
  for (const auto& row : rows) {
    TestGpuMetrics table(row.revision, row.size);
    table.Set<uint16_t>(row.count, 2);
    const size_t second = row.first + row.stride;
    table.Set<uint32_t>(row.first, 10).Set<uint32_t>(row.first + 4, 20);
    table.Set<uint32_t>(second, 30).Set<uint64_t>(second + row.sums, 12345);
    const AmdGpuMetrics metrics = ParseAmdGpuMetrics(table.bytes());
    ASSERT_EQ(metrics.partitions.size(), 2u) << row.size;
    EXPECT_THAT(metrics.partitions[0].busy_percent, ElementsAre(10, 20)) << row.size;
    EXPECT_THAT(metrics.partitions[0].busy_sums, IsEmpty()) << row.size;
    EXPECT_THAT(metrics.partitions[1].busy_percent, ElementsAre(30)) << row.size;
    EXPECT_THAT(metrics.partitions[1].busy_sums, ElementsAre(12345)) << row.size;
  }
}

TEST(AmdGpuMetrics, CountOfPartitionsIsBounded) {
  TestGpuMetrics table(7, 2208);
  table.Set<uint16_t>(338, 60'000);
  EXPECT_EQ(ParseAmdGpuMetrics(table.bytes()).partitions.size(), 8u);
}

TEST(AmdGpuMetrics, UnknownSizeOfAKnownVersionHasNoSums) {
  TestGpuMetrics table(7, 2216);
  table.Set<uint16_t>(12, 61).Set<uint32_t>(40, 900).Set<uint32_t>(76, 4500);
  const AmdGpuMetrics metrics = ParseAmdGpuMetrics(table.bytes());
  EXPECT_EQ(metrics.gfx_percent, 61);
  EXPECT_EQ(metrics.cycles, std::nullopt);
  EXPECT_THAT(metrics.partitions, IsEmpty());
}

TEST(AmdGpuMetrics, AbsentAndForeignTablesHaveNothing) {
  const auto filled = [](uint8_t revision, uint8_t format) {
    TestGpuMetrics table(revision, 2208, format);
    for (size_t offset = 4; offset < 80; offset += 2) table.Set<uint16_t>(offset, 50);
    return table.bytes();
  };
  const std::pair<const char*, std::string> rows[] = {
      {"empty file", ""},
      {"cut header", std::string("\x08", 1)},
      {"cut table", filled(7, 1).substr(0, 100)},
      {"not available", TestGpuMetrics(7, 2208).bytes()},
      {"1.0, which is not aligned", filled(0, 1)},
      {"1.9, a list of attributes", filled(9, 1)},
      {"2.4, an integrated GPU in other units", filled(4, 2)},
      {"3.0, an integrated GPU", filled(0, 3)},
  };
  for (const auto& [what, table] : rows) {
    const AmdGpuMetrics metrics = ParseAmdGpuMetrics(table);
    EXPECT_EQ(metrics.gfx_percent, std::nullopt) << what;
    EXPECT_EQ(metrics.memory_percent, std::nullopt) << what;
    EXPECT_EQ(metrics.cycles, std::nullopt) << what;
    EXPECT_EQ(metrics.gfx_sum, std::nullopt) << what;
    EXPECT_THAT(metrics.partitions, IsEmpty()) << what;
  }
}

}  // namespace
}  // namespace gpuscaler
