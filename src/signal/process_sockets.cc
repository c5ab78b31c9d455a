#include "signal/process_sockets.h"

#include <dirent.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "signal/proc_file.h"

namespace gpuscaler {

absl::StatusOr<std::set<uint64_t>> SocketsOf(const std::string& proc, int64_t pid) {
  const std::string folder = absl::StrCat(proc, "/", pid, "/fd");
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(opendir(folder.c_str()), &closedir);
  if (opened == nullptr) return ProcError(errno, folder);
  std::set<uint64_t> sockets;
  errno = 0;
  while (const dirent* entry = readdir(opened.get())) {
    const std::string link = absl::StrCat(folder, "/", entry->d_name);
    std::array<char, 64> target;  // "socket:[1508]"; a longer target is a file
    const ssize_t size = readlink(link.c_str(), target.data(), target.size());
    if (size < 0 && (errno == EACCES || errno == EPERM)) return ProcError(errno, link);
    errno = 0;
    if (size < 0) continue;  // ".", "..", or closed meanwhile
    absl::string_view text(target.data(), size);
    uint64_t socket = 0;
    if (absl::ConsumePrefix(&text, "socket:[") && absl::ConsumeSuffix(&text, "]") &&
        absl::SimpleAtoi(text, &socket)) {
      sockets.insert(socket);
    }
  }
  if (errno != 0) return ProcError(errno, folder);
  return sockets;
}

}  // namespace gpuscaler
