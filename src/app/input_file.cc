#include "app/input_file.h"

#include "base/file_text.h"

namespace gpuscaler {

absl::StatusOr<std::string> ReadInput(const std::string& path) {
  return path == "-" ? ReadFileText(stdin, "standard input") : ReadFileText(path);
}

}  // namespace gpuscaler
