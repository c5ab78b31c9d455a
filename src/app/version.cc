#include "app/version.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "app/exit_codes.h"

namespace gpuscaler {

std::string VersionText(absl::string_view program, const BuildCommit& commit) {
  std::string version = absl::StrCat(program, " ", GPUSCALER_VERSION);
  if (commit.hash.empty()) return version;
  return absl::StrCat(version, " (commit ", commit.hash, commit.date.empty() ? "" : ", ",
                      commit.date, ")");
}

Command VersionCommand(const std::string& program) {
  return {.name = "version",
          .help = "Print the version, with the commit that it was built from and its date.",
          .run = [program](const std::vector<std::string>&) {
            std::cout << VersionText(program) << "\n";
            return kExitOk;
          }};
}

}  // namespace gpuscaler
