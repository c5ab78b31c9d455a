#include "app/command_line.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CommandLineTest : public testing::Test {
 protected:
  absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& args) {
    return ParseCommandLine(program_, args);
  }
  std::string Error(const std::vector<std::string>& args) {
    return std::string(Parse(args).status().message());
  }

  std::string port_ = "6000";
  std::string format_ = "text";
  bool idle_ = false;
  int device_ = -1;
  int speed_ = 150;
  std::vector<std::string> hosts_;
  const Program program_ = {
      .name = "scaler",
      .summary = "scales",
      .commands = {{.name = "serve",
                    .help = "Serves.",
                    .flags = {TextFlag("port", "PORT", "Port.", &port_)}},
                   {.name = "query",
                    .help = "Queries.",
                    .arguments = "ADDRESS [KEY=VALUE...]",
                    .flags = {WordFlag("format", "FORMAT", "Format.", {"text", "json"}, &format_),
                              SwitchFlag("quiet", "Print less.", &idle_),
                              IntFlag("device", "One GPU.", {-1}, &device_),
                              IntFlag("speed", "Speed.", {1, 1000}, &speed_),
                              ListFlag("host", "HOST", "Hosts.", &hosts_)}},
                   {.name = "secret", .help = "Hidden.", .hidden = true}},
  };
};

TEST_F(CommandLineTest, FirstCommandIsTheDefault) {
  const auto line = Parse({"--port", "7000"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->command->name, "serve");
  EXPECT_EQ(port_, "7000");
  EXPECT_EQ(Parse({})->command->name, "serve");
}

TEST_F(CommandLineTest, LastValueOfAFlagCounts) {
  ASSERT_TRUE(Parse({"serve", "--port=1", "--port", "2"}).ok());
  EXPECT_EQ(port_, "2");
}

TEST_F(CommandLineTest, EveryValueOfAListFlagCounts) {
  const auto line = Parse({"query", "--host=a", "--host", "b", "address"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(hosts_, ElementsAre("a", "b"));
  EXPECT_THAT(line->arguments, ElementsAre("address"));
}

TEST_F(CommandLineTest, ArgumentsAndFlagsMix) {
  const auto line = Parse({"query", "host:6000", "--format", "json", "profile=batch", "--quiet"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->arguments, ElementsAre("host:6000", "profile=batch"));
  EXPECT_EQ(format_, "json");
  EXPECT_TRUE(idle_);
}

TEST_F(CommandLineTest, NegativeNumbersAreValues) {
  device_ = 3;
  ASSERT_TRUE(Parse({"query", "a", "--device", "-1"}).ok());
  EXPECT_EQ(device_, -1);
}

TEST_F(CommandLineTest, ErrorsHaveTheWordAndTheNearestKnownOne) {
  EXPECT_THAT(Error({"qurey"}), HasSubstr("unknown command \"qurey\": use serve, query; did you "
                                          "mean \"query\"?"));
  EXPECT_THAT(Error({"--prot", "1"}),
              HasSubstr("serve has no flag --prot; did you mean \"--port\"?"));
  EXPECT_THAT(Error({"query", "a", "--fromat=json"}), HasSubstr("did you mean \"--format\"?"));
  EXPECT_THAT(Error({"query", "--format", "jsn"}),
              HasSubstr("flag --format=jsn: use text, json; did you mean \"json\"?"));
  EXPECT_THAT(Error({"query", "--device=x"}), HasSubstr("use a whole number of at least -1"));
  EXPECT_THAT(Error({"query", "--speed=1001"}),
              HasSubstr("flag --speed=1001: use a whole number from 1 to 1000"));
  EXPECT_THAT(Error({"query", "--speed=0"}), HasSubstr("from 1 to 1000"));
  EXPECT_THAT(Error({"serve", "6000"}), HasSubstr("serve takes no argument \"6000\""));
  EXPECT_THAT(Error({"query", "--format"}), HasSubstr("--format"));
}

TEST_F(CommandLineTest, LongFlagWithOneDashIsRefusedWithTheRightOne) {
  const std::vector<std::vector<std::string>> commands = {
      {"-port", "7000"}, {"-port=7000"}, {"serve", "-port", "7000"}};
  for (const std::vector<std::string>& args : commands) {
    EXPECT_THAT(Error(args), HasSubstr("serve has no flag -port; did you mean \"--port\"?"));
  }
  EXPECT_EQ(port_, "6000");
  EXPECT_THAT(Error({"query", "a", "-host=b"}),
              HasSubstr("query has no flag -host; did you mean \"--host\"?"));
  EXPECT_THAT(Error({"query", "a", "-quite"}), HasSubstr("did you mean \"--quiet\"?"));
  EXPECT_THAT(Error({"-version"}), HasSubstr("the command \"version\" prints the version"));
  EXPECT_THAT(Error({"serve", "--version"}), HasSubstr("the command \"version\" prints"));
  EXPECT_FALSE(Parse({"-help"})->help.empty());
}

TEST_F(CommandLineTest, ValueOfAFlagMayBeginWithADash) {
  const auto line = Parse({"query", "a", "--host", "-port", "--host=-x"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(hosts_, ElementsAre("-port", "-x"));
}

TEST_F(CommandLineTest, HelpListsEveryFlagAndSucceeds) {
  const auto line = Parse({"query", "--help"});
  ASSERT_TRUE(line.ok()) << line.status();
  for (const char* word : {"--format", "--quiet", "--device", "ADDRESS", "Speed. 1 to 1000.",
                           "Format: text or json."}) {
    EXPECT_THAT(line->help, HasSubstr(word));
  }
}

TEST_F(CommandLineTest, OverviewLeavesHiddenCommandsOut) {
  EXPECT_THAT(Overview(program_), HasSubstr("query"));
  EXPECT_THAT(Overview(program_), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace gpuscaler
