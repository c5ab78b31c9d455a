#include <iostream>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "base/printable_text.h"
#include "role/option_value.h"
#include "role/options.h"
#include "role/role_options.h"

namespace gpuscaler {
namespace {

// Only serve has roles.
std::string HelpFor(unsigned use, const Option& option) {
  const std::string roles = use == kServeUses ? RolesText(option) : "";
  return absl::StrCat(HelpText(option), roles.empty() ? "" : " For role ", roles,
                      roles.empty() ? "" : ".");
}

Flag FlagOf(unsigned use, const Option& option, std::vector<Setting>* given) {
  Flag flag = {.name = std::string(option.name),
               .value = std::string(option.value),
               .help = HelpFor(use, option),
               .default_text = DefaultText(option)};
  // A switch may have a word too (--discover-engines=auto), but completion offers the bare flag.
  if (!option.value.empty()) {
    for (const absl::string_view word : Words(option)) flag.words.emplace_back(word);
  }
  flag.set = [name = flag.name, given](const std::string& value) {
    given->push_back({name, value, absl::StrCat("flag --", name)});
    return absl::OkStatus();
  };
  return flag;
}

}  // namespace

std::vector<Flag> ConfigFlags(unsigned use, std::vector<Setting>* given) {
  std::vector<Flag> flags;
  for (const Option& option : Options()) {
    if ((option.used_by & use) != 0) flags.push_back(FlagOf(use, option, given));
  }
  flags.push_back({.name = std::string(kConfigFlag),
                   .value = "FILE",
                   .help = std::string(kConfigHelp),
                   .set = [given](const std::string& value) {
                     given->push_back({std::string(kConfigFlag), value, "flag --config"});
                     return absl::OkStatus();
                   }});
  return flags;
}

int Fail(absl::string_view command, const absl::Status& why, ExitCode otherwise) {
  std::cerr << command << ": " << EscapedLine(why.message()) << "\n";
  return ExitCodeOf(why, otherwise);
}

}  // namespace gpuscaler
