// Tests of the pages generated from the tables: completion, manual, reference.
#include <fstream>
#include <sstream>

#include "absl/strings/str_split.h"
#include "app/commands.h"
#include "app/completion.h"
#include "app/man_page.h"
#include "app/reference_page.h"
#include "gmock/gmock.h"
#include "gpu/gpu_file.h"
#include "gtest/gtest.h"
#include "role/options.h"
#include "trigger/profile.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReferencePage, EqualsTheCommittedPage) {
  std::ifstream file(GPUSCALER_SOURCE_DIR "/docs/reference.md");
  std::stringstream committed;
  committed << file.rdbuf();
  EXPECT_TRUE(committed.str() == ReferencePage(ScalerProgram().commands))
      << "docs/reference.md is behind the code: build the target reference_page";
}

TEST(ReferencePage, ListsWhatIsAllowed) {
  const std::string page = ReferencePage(ScalerProgram().commands);
  EXPECT_THAT(
      page,
      HasSubstr("two readings of the GPUs; of an aggregator, that of its agents. 50ms to 5m."));
  EXPECT_THAT(page, HasSubstr("RESOURCE_EXHAUSTED. 1 to 1000000."));
  EXPECT_THAT(page, HasSubstr("auto, k8s, slurm, flux or standalone."));
  EXPECT_THAT(page, HasSubstr("| `grace` | aggregator | 15s |"));
  EXPECT_THAT(page, HasSubstr("| `tls-cert` | all |  |"));
  EXPECT_THAT(page, HasSubstr(ExampleProfiles()));
  EXPECT_THAT(page, HasSubstr("| `standingMemory` | literal, pressure or activity |"));
  EXPECT_THAT(page, HasSubstr("| `SLURM_STEP_GPUS` | `slurm` |"));
}

TEST(HardwarePage, ExampleOfAGpuFileIsValid) {
  std::ifstream file(GPUSCALER_SOURCE_DIR "/docs/hardware.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::vector<std::string> parts =
      absl::StrSplit(page.str(), absl::MaxSplits("```json\n", 1));
  ASSERT_EQ(parts.size(), 2u);
  const auto frames = ParseGpuFile(parts[1].substr(0, parts[1].find("```")));
  ASSERT_TRUE(frames.ok()) << frames.status();
  EXPECT_EQ(frames->front().snapshot.gpus.size(), 2u);
}

TEST(Pages, NameEveryCommandAndFlagThatIsNotHidden) {
  const std::vector<Command> commands = ScalerProgram().commands;
  const std::vector<std::string> pages = {BashCompletion(commands), ZshCompletion(commands),
                                          FishCompletion(commands), ManPage(commands)};
  for (const std::string& page : pages) {
    for (const Command& command : commands) {
      if (command.hidden) {
        EXPECT_THAT(page, Not(HasSubstr(command.help))) << command.name;
        continue;
      }
      EXPECT_THAT(page, HasSubstr(command.name));
    }
    for (const Option& option : Options()) {
      const std::string name(option.name);
      std::string roff;
      for (const char c : name) roff += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_THAT(page, testing::AnyOf(HasSubstr(name), HasSubstr(roff)));
    }
  }
}

}  // namespace
}  // namespace gpuscaler
