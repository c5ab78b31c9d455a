#include "app/man_page.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "app/exit_codes.h"
#include "app/job_environment.h"
#include "role/options.h"
#include "role/settings.h"

namespace gpuscaler {
namespace {

// A line that begins with a dot or quote is a request; a bare hyphen may become a dash.
std::string Roff(absl::string_view text) {
  const std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  const bool request = absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'");
  return absl::StrCat(request ? "\\&" : "", escaped);
}

std::string FlagText(const Flag& flag) {
  std::string text = absl::StrCat(".TP\n.B ", Roff(absl::StrCat("--", flag.name)));
  if (!flag.value.empty()) absl::StrAppend(&text, " \\fI", Roff(flag.value), "\\fR");
  absl::StrAppend(&text, "\n", Roff(flag.help));
  if (!flag.default_text.empty()) {
    absl::StrAppend(&text, " Default: ", Roff(flag.default_text), ".");
  }
  return absl::StrCat(text, "\n");
}

std::string CommandText(const Command& command) {
  std::string text = absl::StrCat(".SS ", Roff(command.name));
  if (!command.arguments.empty()) absl::StrAppend(&text, " ", Roff(command.arguments));
  absl::StrAppend(&text, "\n", Roff(command.help), "\n");
  for (const Flag& flag : command.flags) absl::StrAppend(&text, FlagText(flag));
  return text;
}

}  // namespace

std::string ManPage(const std::vector<Command>& commands) {
  std::string text = absl::StrCat(
      ".TH KEDA\\-GPU\\-SCALER 1 \"\" \"keda\\-gpu\\-scaler ", GPUSCALER_VERSION,
      "\" \"User Commands\"\n"
      ".SH NAME\nkeda\\-gpu\\-scaler \\- scale Kubernetes workloads on what their GPUs do\n"
      ".SH SYNOPSIS\n.B keda\\-gpu\\-scaler\n[\\fICOMMAND\\fR] [\\fIFLAGS\\fR]\n"
      ".SH DESCRIPTION\nA KEDA external scaler: reads the GPUs of a node and answers KEDA with the "
      "load of the\nworkload that uses them, so that the Horizontal Pod Autoscaler scales it, to "
      "zero and back.\n"
      "Without a command it serves.\n"
      ".SH COMMANDS\n");
  for (const Command& command : commands) {
    if (!command.hidden) absl::StrAppend(&text, CommandText(command));
  }
  absl::StrAppend(&text,
                  ".SH CONFIGURATION\nEach option is a flag, an environment variable and a key of "
                  "the YAML file that\n.B \\-\\-config\nor\n.B ",
                  kConfigVariable,
                  "\nnames. Flags count before the environment, the environment before the file, "
                  "the file\nbefore the default; of a flag given twice the last one counts.\n"
                  ".SH ENVIRONMENT\n");
  for (const Option& option : Options()) {
    absl::StrAppend(&text, ".TP\n.B ", EnvironmentName(option), "\n",
                    Roff(absl::StrCat("--", option.name)), "\n");
  }
  for (const JobVariable& variable : JobVariables()) {
    absl::StrAppend(&text, ".TP\n.B ", variable.name, "\n", Roff(variable.help), ".\n");
  }
  absl::StrAppend(&text, ".SH EXIT STATUS\n");
  for (const ExitCodeInfo& code : ExitCodes()) {
    absl::StrAppend(&text, ".TP\n.B ", static_cast<int>(code.code), "\n", Roff(code.meaning), "\n");
  }
  return text;
}

}  // namespace gpuscaler
