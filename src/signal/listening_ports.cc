#include "signal/listening_ports.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "signal/kernel_address.h"
#include "signal/proc_file.h"

namespace gpuscaler {
namespace {

// Columns: slot, local and remote address, state, queues, timer, retransmits, uid, timeout, inode.
constexpr size_t kLocalColumn = 1;
constexpr size_t kStateColumn = 3;
constexpr size_t kInodeColumn = 9;

constexpr char kListens[] = "0A";  // TCP_LISTEN
constexpr size_t kPortDigits = 4;
constexpr size_t kShownBytes = 80;  // shown of a malformed row

constexpr size_t kLongestSockstat = 4096;
constexpr size_t kMaxRows = 4096;
// Shorter than any row, so that no read returns more than one row.
constexpr size_t kBlockBytes = 100;

using Columns = std::vector<absl::string_view>;

std::optional<Listener> ListenerOf(const Columns& columns) {
  const std::vector<absl::string_view> parts = absl::StrSplit(columns[kLocalColumn], ':');
  if (parts.size() != 2) return std::nullopt;
  Listener listener;
  auto address = AddressOfWords(parts[0]);
  const auto port = HexNumber(parts[1], kPortDigits);
  if (!address || !port || !absl::SimpleAtoi(columns[kInodeColumn], &listener.socket)) {
    return std::nullopt;
  }
  listener.address = *std::move(address);
  listener.port = static_cast<int>(*port);
  return listener;
}

absl::Status NoRow(absl::string_view row) {
  return absl::InvalidArgumentError(absl::StrCat("a table of sockets with a row that is none: \"",
                                                 absl::CHexEscape(row.substr(0, kShownBytes)),
                                                 "\""));
}

// Returns whether the last complete row is a connection: no listeners follow it.
bool EndsInAConnection(absl::string_view text) {
  const size_t end = text.rfind('\n');
  if (end == absl::string_view::npos || end == 0) return false;
  const size_t start = text.rfind('\n', end - 1);
  if (start == absl::string_view::npos) return false;  // the header
  const Columns columns =
      absl::StrSplit(text.substr(start + 1, end - start - 1), ' ', absl::SkipEmpty());
  return columns.size() > kStateColumn && columns[kStateColumn] != kListens;
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

absl::StatusOr<std::vector<Listener>> ParseListeners(absl::string_view table) {
  std::vector<Listener> listeners;
  // The text after the last newline is empty, or an incomplete row.
  for (size_t end = table.find('\n'); end != absl::string_view::npos; end = table.find('\n')) {
    const absl::string_view row = absl::StripAsciiWhitespace(table.substr(0, end));
    table.remove_prefix(end + 1);
    if (row.empty() || absl::StartsWith(row, "sl ")) continue;  // the header
    const Columns columns = absl::StrSplit(row, ' ', absl::SkipEmpty());
    if (columns.size() <= kInodeColumn) return NoRow(row);
    if (columns[kStateColumn] != kListens) continue;
    auto listener = ListenerOf(columns);
    if (!listener) return NoRow(row);
    listeners.push_back(*std::move(listener));
  }
  return listeners;
}

std::optional<size_t> SocketsInUse(absl::string_view sockstat, absl::string_view protocol) {
  for (const absl::string_view line : absl::StrSplit(sockstat, '\n')) {
    const Columns words = absl::StrSplit(line, ' ', absl::SkipEmpty());
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
