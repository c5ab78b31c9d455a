#include "gpu/sysfs_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// An attribute has one page at most.
constexpr size_t kLargestAttribute = 65'536;

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

absl::Status Failure(const std::string& path, int error) {
  const std::string text = absl::StrCat(NameOf(path), ": ", std::strerror(error));
  const bool is_absent = error == ENOENT || error == ENOTDIR || error == EINVAL ||
                         error == EOPNOTSUPP || error == ENODATA;
  return is_absent ? absl::NotFoundError(text) : absl::UnavailableError(text);
}

// Returns 0, or the error of the call that failed.
int ReadAll(int file, std::string& text) {
  std::array<char, 4096> block;
  while (text.size() < kLargestAttribute) {
    const ssize_t count = read(file, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return 0;
    text.append(block.data(), static_cast<size_t>(count));
  }
  return EFBIG;
}

}  // namespace

absl::StatusOr<std::string> ReadSysfsBytes(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Failure(path, errno);
  std::string text;
  const int error = ReadAll(file, text);
  close(file);
  if (error != 0) return Failure(path, error);
  return text;
}

absl::StatusOr<std::string> ReadSysfs(const std::string& path) {
  absl::StatusOr<std::string> text = ReadSysfsBytes(path);
  if (text.ok() && absl::EndsWith(*text, "\n")) text->pop_back();
  return text;
}

absl::StatusOr<int64_t> ReadSysfsNumber(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSysfs(path);
  if (!text.ok()) return text.status();
  int64_t number = 0;
  if (absl::SimpleAtoi(*text, &number)) return number;
  return absl::UnavailableError(absl::StrCat(NameOf(path), ": \"", *text, "\" is no number"));
}

std::vector<std::string> NamesInSysfs(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace gpuscaler
