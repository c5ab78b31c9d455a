#include "base/file_text.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

absl::Status Unreadable(const std::string& name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": cannot be read: ", why));
}

}  // namespace

absl::StatusOr<std::string> ReadFileText(const std::string& path, size_t max_bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (file == nullptr) return Unreadable(path, std::strerror(errno));
  return ReadFileText(file.get(), path, max_bytes);
}

absl::StatusOr<std::string> ReadFileText(std::FILE* file, const std::string& name,
                                         size_t max_bytes) {
  std::string text;
  std::array<char, 16384> block;
  while (const size_t count = std::fread(block.data(), 1, block.size(), file)) {
    text.append(block.data(), count);
    if (text.size() > max_bytes) {
      return Unreadable(name, absl::StrCat("larger than ", max_bytes, " bytes"));
    }
  }
  // A directory can be opened, but not read.
  if (std::ferror(file) != 0) return Unreadable(name, std::strerror(errno));
  return text;
}

}  // namespace gpuscaler
