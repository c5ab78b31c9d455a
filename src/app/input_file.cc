#include "app/input_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr size_t kLargest = 16 << 20;

absl::Status Unreadable(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("cannot read ", path, ": ", why));
}

absl::StatusOr<std::string> ReadAll(std::FILE* file, const std::string& path) {
  std::string content;
  char buffer[65536];
  while (const size_t count = std::fread(buffer, 1, sizeof(buffer), file)) {
    content.append(buffer, count);
    if (content.size() > kLargest) return Unreadable(path, "larger than 16 MiB");
  }
  if (std::ferror(file) != 0) return Unreadable(path, std::strerror(errno));
  return content;
}

}  // namespace

absl::StatusOr<std::string> ReadInput(const std::string& path) {
  if (path == "-") return ReadAll(stdin, "standard input");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return Unreadable(path, std::strerror(errno));
  return ReadAll(file.get(), path);
}

}  // namespace gpuscaler
