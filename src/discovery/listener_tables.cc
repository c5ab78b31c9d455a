#include "discovery/listener_tables.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "discovery/proc_file.h"

namespace gpuscaler {
namespace {

constexpr size_t kLongestSockstat = 4096;
constexpr size_t kMaxRows = 4096;

// Shorter than any row, so that no read returns more than one row.
constexpr size_t kBlockBytes = 100;

// Returns whether the last complete row is a connection: no listeners follow it. The fourth column
// is the state.
bool EndsInAConnection(absl::string_view text) {
  const size_t end = text.rfind('\n');
  if (end == absl::string_view::npos || end == 0) return false;
  const size_t start = text.rfind('\n', end - 1);
  if (start == absl::string_view::npos) return false;  // the header
  const std::vector<absl::string_view> columns =
      absl::StrSplit(text.substr(start + 1, end - start - 1), ' ', absl::SkipEmpty());
  return columns.size() > 3 && columns[3] != "0A";
}

// Reads the header and `rows` rows, or up to the first connection.
absl::StatusOr<std::string> ReadRows(const std::string& path, size_t rows) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return ProcError(errno, path);
  const absl::Cleanup closed = [file] { close(file); };
  std::string text;
  std::array<char, kBlockBytes> block;
  size_t lines = 0;
  while (lines <= rows && !EndsInAConnection(text)) {
    const ssize_t count = read(file, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ProcError(errno, path);
    if (count == 0) break;
    text.append(block.data(), count);
    lines += std::count(block.begin(), block.begin() + count, '\n');
  }
  return text;
}

// A kernel without IPv6 has no tcp6.
absl::StatusOr<std::vector<Listener>> ReadTable(const std::string& net, const char* table,
                                                const char* sockstat, const char* protocol) {
  size_t rows = kMaxRows;
  if (const auto text = ReadProcFile(net + sockstat, kLongestSockstat); text.ok()) {
    rows = std::min(rows, SocketsInUse(*text, protocol).value_or(rows));
  }
  if (rows == 0) return std::vector<Listener>();
  const auto text = ReadRows(net + table, rows);
  if (absl::IsNotFound(text.status())) return std::vector<Listener>();
  RETURN_IF_ERROR(text.status());
  return ParseListeners(*text);
}

}  // namespace

std::optional<size_t> SocketsInUse(absl::string_view sockstat, absl::string_view protocol) {
  for (const absl::string_view line : absl::StrSplit(sockstat, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    size_t count = 0;
    if (words.size() >= 3 && words[0] == protocol && words[1] == "inuse" &&
        absl::SimpleAtoi(words[2], &count)) {
      return count;
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<Listener>> ReadListeners(const std::string& proc, int64_t pid) {
  const std::string net = absl::StrCat(proc, "/", pid, "/net/");
  ASSIGN_OR_RETURN(std::vector<Listener> listeners, ReadTable(net, "tcp", "sockstat", "TCP:"));
  ASSIGN_OR_RETURN(const auto of_ipv6, ReadTable(net, "tcp6", "sockstat6", "TCP6:"));
  listeners.insert(listeners.end(), of_ipv6.begin(), of_ipv6.end());
  return listeners;
}

}  // namespace gpuscaler
