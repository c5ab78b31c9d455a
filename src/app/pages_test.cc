// The pages made from the tables: completion, manual, reference.
#include <fstream>
#include <sstream>

#include "app/commands.h"
#include "app/completion.h"
#include "app/man_page.h"
#include "app/options.h"
#include "app/reference_page.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReferencePage, IsTheCommittedOne) {
  std::ifstream file(GPUSCALER_SOURCE_DIR "/docs/reference.md");
  std::stringstream committed;
  committed << file.rdbuf();
  EXPECT_TRUE(committed.str() == ReferencePage(AllCommands()))
      << "docs/reference.md is behind the code: build the target reference_page";
}

TEST(Pages, NameEveryCommandAndFlagThatIsNotHidden) {
  const std::vector<Command> commands = AllCommands();
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
