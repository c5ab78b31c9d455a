// Reads the input file of a command.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "base/status_macros.h"

namespace gpuscaler {

// If `path` is "-", reads standard input. Returns INVALID_ARGUMENT with the path if it cannot be
// read or is larger than kLargestText.
inline absl::StatusOr<std::string> ReadInput(const std::string& path) {
  return path == "-" ? ReadFileText(stdin, "standard input") : ReadFileText(path);
}

// Returns INVALID_ARGUMENT with the path also if `parse` returns an error for the text.
template <typename Parse>
auto ParseInput(const std::string& path, Parse parse) -> decltype(parse(std::string())) {
  ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  auto parsed = parse(text);
  if (parsed.ok()) return parsed;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", parsed.status().message()));
}

}  // namespace gpuscaler
