// The output of `lint`: pure renderers.
#pragma once

#include <string>
#include <vector>

#include "trigger/lint.h"

namespace gpuscaler {

struct FileFindings {
  std::string path;
  std::vector<Finding> findings;
};

// Returns lines "file:line: severity: message [rule]".
std::string LintText(const std::vector<FileFindings>& files);
std::string LintJson(const std::vector<FileFindings>& files);
// Returns SARIF 2.1.0, for code hosts that show findings beside the line.
std::string LintSarif(const std::vector<FileFindings>& files);

}  // namespace gpuscaler
