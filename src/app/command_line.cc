#include "app/command_line.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/nearest.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

absl::StatusOr<const Command*> FindCommand(const std::vector<Command>& commands,
                                           const std::string& name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end()) return &*found;
  std::vector<absl::string_view> names;
  for (const Command& command : commands) {
    if (!command.hidden) names.emplace_back(command.name);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown command \"", name, "\": use ", absl::StrJoin(names, ", "), DidYouMean(name, names)));
}

// Prints usage and arguments of the command instead of CLI11's [OPTIONS] [arguments...].
class HelpPage : public CLI::Formatter {
 public:
  explicit HelpPage(const Command& command) : command_(command) { column_width(30); }

  std::string make_usage(const CLI::App*, std::string name) const override {
    return absl::StrCat("\nUsage: ", name, " [FLAGS]", command_.arguments.empty() ? "" : " ",
                        command_.arguments, "\n");
  }
  std::string make_positionals(const CLI::App*) const override { return ""; }

 private:
  const Command& command_;
};

CLI::Option* Add(CLI::App& app, const Flag& flag) {
  const std::string name = absl::StrCat("--", flag.name);
  const std::string help = flag.default_text.empty()
                               ? flag.help
                               : absl::StrCat(flag.help, " Default: ", flag.default_text, ".");
  CLI::Option* const option =
      flag.value.empty() ? app.add_flag(name, help) : app.add_option(name, help);
  if (!flag.value.empty()) option->type_name(flag.value);
  return option->multi_option_policy(flag.repeats ? CLI::MultiOptionPolicy::TakeAll
                                                  : CLI::MultiOptionPolicy::TakeLast);
}

// Suggests --port for -port as well: flags of Go programs may have one dash.
absl::Status UnknownFlag(const Command& command, const std::string& given) {
  constexpr char kVersion[] = "--version";  // a flag of the program, not of its commands
  std::vector<std::string> names{"--help", kVersion};
  for (const Flag& flag : command.flags) names.push_back(absl::StrCat("--", flag.name));
  const std::string name = given.substr(0, given.find('='));
  const std::string with_two_dashes = absl::StartsWith(name, "--") ? name : absl::StrCat("-", name);
  const std::vector<absl::string_view> known(names.begin(), names.end());
  const std::string suggestion = Nearest(with_two_dashes, known) == kVersion
                                     ? "; the command \"version\" prints the version"
                                     : DidYouMean(with_two_dashes, known);
  return absl::InvalidArgumentError(
      absl::StrCat(command.name, " has no flag ", name, suggestion, "; see --help"));
}

// Returns true for "--port", but not for "--port=6000" and switches.
bool IsFollowedByItsValue(const Command& command, absl::string_view word) {
  return std::ranges::any_of(command.flags, [word](const Flag& flag) {
    return !flag.value.empty() && word == absl::StrCat("--", flag.name);
  });
}

// Refuses long flags with one dash before CLI11 takes -host for -h.
absl::Status CheckDashes(const Command& command, const std::vector<std::string>& args) {
  for (size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    const std::string& word = args[i];
    const bool has_one_dash = word.size() > 2 && word[0] == '-' &&
                              absl::ascii_isalpha(static_cast<unsigned char>(word[1]));
    if (has_one_dash && word != "-help") return UnknownFlag(command, word);
    if (IsFollowedByItsValue(command, word)) ++i;
  }
  return absl::OkStatus();
}

absl::Status CheckRest(const Command& command, const std::vector<std::string>& rest) {
  for (const std::string& word : rest) {
    if (absl::StartsWith(word, "-") && word != "-") return UnknownFlag(command, word);
  }
  if (command.arguments.empty() && !rest.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(command.name, " takes no argument \"", rest.front(), "\"; see --help"));
  }
  return absl::OkStatus();
}

absl::Status SetFlags(const Command& command, const std::vector<CLI::Option*>& options) {
  for (size_t i = 0; i < options.size(); ++i) {
    const Flag& flag = command.flags[i];
    std::vector<std::string> values = options[i]->results();
    if (!flag.repeats && values.size() > 1) values = {values.back()};
    for (const std::string& value : values) {
      const absl::Status set = flag.set(value);
      if (set.ok()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("flag --", flag.name, "=", value, ": ", set.message()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CommandLine> Parse(const Program& program, const Command& command,
                                  std::vector<std::string> args) {
  RETURN_IF_ERROR(CheckDashes(command, args));
  CLI::App app(command.help, absl::StrCat(program.name, " ", command.name));
  app.set_help_flag("-h,--help", "Print this and exit.");
  app.formatter(std::make_shared<HelpPage>(command));
  app.allow_extras();
  std::vector<CLI::Option*> options;
  for (const Flag& flag : command.flags) options.push_back(Add(app, flag));
  std::vector<std::string> arguments;
  if (!command.arguments.empty()) {
    app.add_option("arguments", arguments);
  }
  std::ranges::reverse(args);  // CLI11 requires this order
  try {
    app.parse(args);
  } catch (const CLI::CallForHelp&) {
    return CommandLine{.command = &command, .help = app.help()};
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(absl::StrCat(command.name, ": ", error.what()));
  }
  RETURN_IF_ERROR(CheckRest(command, app.remaining()));
  RETURN_IF_ERROR(SetFlags(command, options));
  return CommandLine{.command = &command, .arguments = std::move(arguments)};
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const Program& program,
                                             const std::vector<std::string>& args) {
  if (args.empty() || (absl::StartsWith(args.front(), "-") && args.front() != "-")) {
    return Parse(program, program.commands.front(), args);
  }
  ASSIGN_OR_RETURN(const Command* const command, FindCommand(program.commands, args.front()));
  return Parse(program, *command, {args.begin() + 1, args.end()});
}

std::string Overview(const Program& program) {
  std::string text = absl::StrCat(program.name, ": ", program.summary, ".\n\nUsage: ", program.name,
                                  " [COMMAND] [FLAGS]\n\nCommands:\n");
  for (const Command& command : program.commands) {
    if (command.hidden) continue;
    absl::StrAppend(&text, "  ", command.name, std::string(14 - command.name.size(), ' '),
                    command.help, "\n");
  }
  absl::StrAppend(&text, "\nWithout a command: ", program.commands.front().name, ". ", program.name,
                  " COMMAND --help lists a command's flags.\n", program.name,
                  " --version prints the version.\n");
  return text;
}

}  // namespace gpuscaler
