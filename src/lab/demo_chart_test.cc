#include "lab/demo_chart.h"

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const DemoSetting kSetting = {.profile = "vllm-inference",
                              .unit = "%",
                              .target = 80,
                              .max_replicas = 4,
                              .speed = 150,
                              .expected = absl::Minutes(10)};

DemoFrame Frame(absl::Duration passed, int desired, int ready) {
  return {.passed = passed,
          .requests_per_second = 0.5,
          .running = 3,
          .waiting = 1,
          .utilization_percent = {100, 50, 0, 0},
          .memory_percent = {90, 90, 0, 0},
          .value = 150,
          .active = true,
          .desired = desired,
          .ready = ready,
          .note = "saturation unknown"};
}

std::string Chart(const std::vector<DemoFrame>& frames, const ChartStyle& style) {
  return absl::StrJoin(ChartLines(kSetting, frames, style), "\n");
}

// The columns of a line without escape sequences.
int Columns(const std::string& line) {
  return static_cast<int>(
      std::ranges::count_if(line, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

TEST(DemoChart, ShowsLoadGpusValueAndReplicas) {
  EXPECT_THAT(Chart({Frame(absl::Seconds(90), 3, 2)}, {.width = 90, .color = false}),
              AllOf(HasSubstr("1m30s passed"), HasSubstr("0.50 requests/s, 3 running, 1 waiting"),
                    HasSubstr("V 150 % of 80, active"), HasSubstr("replicas 3 desired, 2 ready"),
                    HasSubstr("100  50   0   0 %"), HasSubstr("saturation unknown")));
}

TEST(DemoChart, LinesFitTheWidth) {
  for (const int width : {20, 40, 79, 200}) {
    for (const std::string& line :
         ChartLines(kSetting, {Frame(absl::Seconds(90), 3, 2)}, {.width = width, .color = false})) {
      EXPECT_LE(Columns(line), width) << line;
    }
  }
}

TEST(DemoChart, WrapsALongNoteInsteadOfCuttingIt) {
  DemoFrame frame = Frame(absl::Seconds(90), 3, 2);
  frame.note =
      "saturation unknown: 8 replicas with preallocated VRAM, and no engine is read; "
      "engineFallback "
      "is utilization";
  EXPECT_THAT(Chart({frame}, {.width = 79, .color = false}),
              HasSubstr("no engine is read;\nengineFallback is utilization"));
}

TEST(DemoChart, HasAConstantNumberOfLines) {
  DemoFrame unknown = Frame(absl::Minutes(30), 0, 0);
  unknown.value.reset();
  unknown.note = "";
  const ChartStyle style = {.width = 79, .color = false};
  EXPECT_EQ(ChartLines(kSetting, {Frame(absl::ZeroDuration(), 1, 0)}, style).size(),
            ChartLines(kSetting, {Frame(absl::Seconds(1), 3, 2), unknown}, style).size());
}

TEST(DemoChart, HasEscapesOnlyForColor) {
  const std::vector<DemoFrame> frames = {Frame(absl::Seconds(90), 3, 2)};
  EXPECT_THAT(Chart(frames, {.width = 79, .color = false}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(Chart(frames, {.width = 79, .color = true}), HasSubstr("\x1b[32m█\x1b[0m"));
}

TEST(DemoChart, StacksStartingReplicasOnReadyOnes) {
  const auto lines =
      ChartLines(kSetting, {Frame(absl::ZeroDuration(), 3, 1)}, {.width = 12, .color = false});
  EXPECT_THAT(absl::StrJoin(lines, "|"),
              HasSubstr("        4   |        3 ░ |        2 ░ |        1 █ |"));
}

TEST(DemoChart, APlainLineHasTheSameContent) {
  EXPECT_THAT(PlainLine(kSetting, Frame(absl::Seconds(90), 3, 2)),
              AllOf(HasSubstr("1m30s"), HasSubstr("2 GPUs busy, at most 100 %"),
                    HasSubstr("V 150 % of 80, active"), HasSubstr("replicas 3 desired, 2 ready")));
}

TEST(DemoChart, OneGpuIsSingular) {
  DemoFrame frame = Frame(absl::Seconds(90), 3, 2);
  frame.utilization_percent = {100, 0, 0, 0};
  EXPECT_THAT(PlainLine(kSetting, frame), HasSubstr(" 1 GPU busy"));
}

TEST(DemoChart, AnUnknownValueIsNotZero) {
  DemoFrame unknown = Frame(absl::Seconds(90), 3, 2);
  unknown.value.reset();
  EXPECT_THAT(PlainLine(kSetting, unknown), AllOf(HasSubstr("V unknown"), Not(HasSubstr("V 0"))));
}

}  // namespace
}  // namespace gpuscaler
