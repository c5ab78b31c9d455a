#include "app/gpus_page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/test_hostile_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// GPU 0 has all fields but its power; GPU 1 has none.
GpusPage Page() {
  GpuSample full = {.uuid = "GPU-a0",
                    .name = "NVIDIA \"H200\", SXM",
                    .index = 0,
                    .utilization_percent = 12.3456,
                    .memory_used_bytes = int64_t{100} << 20,
                    .memory_total_bytes = int64_t{141} << 30,
                    .processes = std::vector<GpuProcess>{{.pid = 7, .memory_bytes = {}}}};
  full.gaps = {{GpuField::kPower, GpuGap::Reason::kFailed, "NVML error 15 (GPU_IS_LOST)"}};
  const GpuSample empty = {.uuid = "GPU-b1", .index = 1};
  GpusPage page;
  page.snapshot = {.taken_at = absl::FromUnixMillis(1'767'225'600'250),
                   .source = "nvml",
                   .driver_version = "570.1",
                   .gpus = {full, empty}};
  page.job.kind = EnvironmentKind::kSlurm;
  page.job.job = "4711";
  page.job.rank = 0;
  page.job.node = "gpu-7";
  return page;
}

TEST(GpusJson, UnknownIsNullAndReasonsAreNamed) {
  const auto json = nlohmann::json::parse(GpusJson(Page(), false));
  EXPECT_EQ(json["time"], "2026-01-01T00:00:00.250Z");
  EXPECT_EQ(json["job"], "4711");
  EXPECT_EQ(json["rank"], 0);
  EXPECT_TRUE(json["local_rank"].is_null());
  EXPECT_TRUE(json["pod"].is_null());
  EXPECT_EQ(json["gpus"][0]["utilization_percent"], 12.346);
  EXPECT_EQ(json["gpus"][0]["memory_used_bytes"], 104857600);
  EXPECT_EQ(json["gpus"][0]["unreadable"]["power"], "NVML error 15 (GPU_IS_LOST)");
  EXPECT_EQ(json["gpus"][0]["processes"][0]["pid"], 7);
  EXPECT_TRUE(json["gpus"][0]["processes"][0]["memory_bytes"].is_null());
  for (const auto& [key, value] : json["gpus"][1].items()) {
    if (key == "index" || key == "uuid" || key == "unreadable") continue;
    EXPECT_TRUE(value.is_null()) << key << "=" << value;
  }
}

TEST(GpusJson, IsOneLineForEachReadingWhenRepeated) {
  const std::string line = GpusJson(Page(), true);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(GpusJson, AnInvalidUtf8NameIsStillValidJson) {
  GpusPage page = Page();
  page.snapshot.gpus[0].name = "\xff\xfe";
  EXPECT_TRUE(nlohmann::json::accept(GpusJson(page, false)));
}

TEST(GpusCsv, UnknownIsBlankAndCommasAreQuoted) {
  const std::string csv = GpusCsv(Page());
  EXPECT_THAT(csv, HasSubstr("2026-01-01T00:00:00.250Z,slurm,4711,,,0,,gpu-7,,,0,GPU-a0,,"
                             "\"NVIDIA \"\"H200\"\", SXM\",12.346,,104857600,"));
  EXPECT_THAT(csv, HasSubstr("slurm,4711,,,0,,gpu-7,,,1,GPU-b1,,,,,,,,,,,,,,,,,,,,,,\n"));
}

TEST(GpusCsv, DistinguishesUnreadableFromMissingFields) {
  GpusPage page = Page();
  page.snapshot.gpus[1].throttle_reasons = 5;
  page.snapshot.gpus[1].gaps = {{GpuField::kMemory, GpuGap::Reason::kFailed, "lost; gone"},
                                {GpuField::kPcie, GpuGap::Reason::kFailed, "NVML error 15"}};
  EXPECT_THAT(GpusCsvHeader(),
              HasSubstr(",throttle_reasons,processes,in_use,unreadable,holders\n"));
  EXPECT_THAT(GpusCsv(page), HasSubstr(",1,true,power=NVML error 15 (GPU_IS_LOST),\n"));
  EXPECT_THAT(GpusCsv(page), HasSubstr(",5,,,\"memory=lost, gone;pcie=NVML error 15\",\n"));
}

// GPU 0 is shared by two pods, GPU 1 is free.
GpusPage HeldPage() {
  GpusPage page = Page();
  NodeSnapshot& snapshot = page.snapshot;
  snapshot.attribution.state = Attribution::State::kKnown;
  snapshot.pods = {{.namespace_name = "shop", .name = "web-0", .ready = true},
                   {.namespace_name = "shop", .name = "web-1"}};
  snapshot.pods[0].owners = {{.kind = "StatefulSet", .name = "web"}};
  snapshot.gpus[0].holders = {{.pod = 0, .container = "vllm", .share = 0.75},
                              {.pod = 1, .container = "vllm", .share = 0.25}};
  return page;
}

TEST(GpusJson, HoldersAreNamedWithTheirShares) {
  const auto json = nlohmann::json::parse(GpusJson(HeldPage(), false));
  const auto holder = json["gpus"][0]["holders"][0];
  EXPECT_EQ(holder["namespace"], "shop");
  EXPECT_EQ(holder["pod"], "web-0");
  EXPECT_EQ(holder["container"], "vllm");
  EXPECT_EQ(holder["share"], 0.75);
  EXPECT_EQ(holder["ready"], true);
  EXPECT_EQ(holder["owners"][0], "StatefulSet/web");
  EXPECT_TRUE(json["gpus"][0]["holders"][1]["ready"].is_null());
  EXPECT_TRUE(json["gpus"][1]["holders"].is_array()) << "free, which is not unknown";
  EXPECT_TRUE(json["holders_unknown"].is_null());
}

TEST(GpusPage, UnknownHoldersDifferFromNone) {
  GpusPage page = Page();
  page.snapshot.attribution = {.state = Attribution::State::kUnknown,
                               .why = "the kubelet does not answer"};
  const auto json = nlohmann::json::parse(GpusJson(page, false));
  EXPECT_TRUE(json["gpus"][0]["holders"].is_null());
  EXPECT_EQ(json["holders_unknown"], "the kubelet does not answer");
  EXPECT_THAT(GpusTable(page), HasSubstr("holders unknown: the kubelet does not answer\n"));
}

TEST(GpusPage, HoldersAreAColumn) {
  EXPECT_THAT(GpusCsv(HeldPage()), HasSubstr(",shop/web-0/vllm=0.75;shop/web-1/vllm=0.25\n"));
  GpusPage page = HeldPage();
  page.snapshot.gpus[0].holders.resize(1);
  EXPECT_THAT(GpusTable(page), HasSubstr("HELD BY"));
  EXPECT_THAT(GpusTable(page), HasSubstr("GPU-a0  shop/web-0/vllm\n"));
  EXPECT_THAT(GpusTable(Page()), Not(HasSubstr("HELD BY")));
}

TEST(GpusPage, PossibleHolderHasAQuestionMarkAndNoShare) {
  GpusPage page = HeldPage();
  for (GpuHolder& holder : page.snapshot.gpus[0].holders) holder.is_possible = true;
  EXPECT_THAT(GpusCsv(page), HasSubstr(",shop/web-0/vllm?;shop/web-1/vllm?\n"));
  const auto json = nlohmann::json::parse(GpusJson(page, false));
  EXPECT_TRUE(json["gpus"][0]["holders"][0]["share"].is_null());
}

TEST(GpusCsv, EveryRowHasAsManyFieldsAsTheHeader) {
  GpusPage page = Page();
  page.snapshot.gpus[0].name = "plain";
  const auto fields = [](const std::string& row) {
    return std::count(row.begin(), row.end(), ',');
  };
  const auto header = fields(GpusCsvHeader());
  for (const std::string& row :
       std::vector<std::string>(absl::StrSplit(GpusCsv(page), '\n', absl::SkipEmpty()))) {
    EXPECT_EQ(fields(row), header) << row;
  }
}

TEST(GpusTable, UnknownIsADashAndTheJobIsNamed) {
  const std::string table = GpusTable(Page());
  EXPECT_THAT(table, HasSubstr("slurm job=4711 rank=0 node=gpu-7 pod=-"));
  EXPECT_THAT(table, HasSubstr("100/144384"));
  EXPECT_THAT(table, HasSubstr("1    -"));
  EXPECT_THAT(table, HasSubstr("GPU 0 power: NVML error 15 (GPU_IS_LOST)"));
}

TEST(GpusTable, NumbersAreWholeOnesAndCsvAndJsonHaveThreeDecimals) {
  GpusPage page = Page();
  GpuSample& gpu = page.snapshot.gpus[0];
  gpu.pcie_tx_kbps = 1234.5678;
  gpu.pcie_rx_kbps = 0;
  gpu.nvlink_tx_mbps = 0.4;
  gpu.power_watts = 92.5;
  gpu.temperature_celsius = 41;
  EXPECT_THAT(GpusTable(page),
              ContainsRegex(" 12 +- +100/144384 +41 +93/- +1235/0 +0/- +1 +GPU-a0\n"));
  EXPECT_THAT(GpusTable(page), ContainsRegex(" - +- +-/- +- +-/- +-/- +-/- +- +GPU-b1\n"));
  EXPECT_THAT(GpusCsv(page), HasSubstr(",1234.568,0,0.4,,"));
  EXPECT_EQ(nlohmann::json::parse(GpusJson(page, false))["gpus"][0]["pcie_tx_kbps"], 1234.568);
}

TEST(GpusTable, UseOfTheMemoryControllerIsAColumn) {
  GpusPage page = Page();
  page.snapshot.gpus[0].memory_utilization_percent = 34;
  EXPECT_THAT(GpusTable(page), ContainsRegex("UTIL % +MEM CTRL % +MEMORY MiB "));
  EXPECT_THAT(GpusTable(page), ContainsRegex(" 12 +34 +100/144384 "));
  EXPECT_THAT(GpusTable(page), ContainsRegex("\n1 +- +- +- +-/- "));
}

TEST(GpusTable, ProfilesOfMigInstancesAreAColumnIfThereAreAny) {
  EXPECT_THAT(GpusTable(Page()), Not(HasSubstr("MIG")));
  GpusPage page = Page();
  page.snapshot.gpus[0].name = "NVIDIA H200";
  page.snapshot.gpus[1].name = "NVIDIA H200 MIG 1g.18gb+me";
  page.snapshot.gpus[1].parent_uuid = "GPU-a0";
  page.snapshot.gpus.push_back({.uuid = "MIG-c2", .parent_uuid = "GPU-a0", .name = "NVIDIA H200"});
  EXPECT_THAT(GpusTable(page), ContainsRegex("GPU +NAME +MIG +UTIL % "));
  EXPECT_THAT(GpusTable(page), ContainsRegex("\n0 +NVIDIA H200 +- +12 "));
  EXPECT_THAT(GpusTable(page),
              ContainsRegex("\n1 MIG +NVIDIA H200 MIG 1g.18gb\\+me +1g.18gb\\+me +- "));
  EXPECT_THAT(GpusTable(page), ContainsRegex("\n0 MIG +NVIDIA H200 +- +- ")) << "not in the name";
}

TEST(GpusPage, PartitionIsNamedInEveryFormat) {
  GpusPage page = Page();
  page.job.partition = "h200";
  EXPECT_THAT(GpusTable(page), HasSubstr("slurm job=4711 partition=h200 rank=0 node=gpu-7"));
  EXPECT_EQ(nlohmann::json::parse(GpusJson(page, false))["partition"], "h200");
  EXPECT_THAT(GpusCsvHeader(), HasSubstr(",job_name,partition,rank,"));
  EXPECT_THAT(GpusCsv(page), HasSubstr(",slurm,4711,,h200,0,"));
}

TEST(GpusTable, ReportsThatThereIsNoGpu) {
  GpusPage page = Page();
  page.snapshot.gpus.clear();
  page.notes = {"no GPU 5"};
  EXPECT_THAT(GpusTable(page), HasSubstr("no GPU\nnote: no GPU 5\n"));
  EXPECT_THAT(GpusTable(page), Not(HasSubstr("UTIL")));
}

TEST(GpusPage, EscapesHostileNames) {
  GpusPage page = HeldPage();
  page.snapshot.gpus[0].name = kHostileName;
  page.snapshot.gpus[0].gaps[0].detail = kHostileName;
  page.snapshot.pods[0].name = kHostileName;
  page.snapshot.attribution.why = kHostileName;
  page.notes = {kHostileName};
  const std::string table = GpusTable(page);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 8) << table;
  EXPECT_EQ(table.find_first_of("\r\x1b\xe2"), std::string::npos) << table;
  EXPECT_THAT(table, HasSubstr(absl::StrCat("shop/", kEscapedName, "/vllm=0.75;")));
  EXPECT_THAT(table, HasSubstr(absl::StrCat("GPU 0 power: ", kEscapedName, "\nholders unknown: ",
                                            kEscapedName, "\nnote: ", kEscapedName, "\n")));
  const std::string csv = GpusCsv(page);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2) << csv;
  EXPECT_THAT(csv, HasSubstr(absl::StrCat(",", kEscapedName, ",")));
  const std::string json = GpusJson(page, true);
  EXPECT_EQ(json.find_first_of("\r\x1b"), std::string::npos) << json;
  EXPECT_EQ(json.find('\n'), json.size() - 1) << json;
  EXPECT_EQ(nlohmann::json::parse(json)["gpus"][0]["name"], kHostileName);
}

}  // namespace
}  // namespace gpuscaler
