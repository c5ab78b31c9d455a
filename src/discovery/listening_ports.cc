#include "discovery/listening_ports.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "discovery/kernel_address.h"

namespace gpuscaler {
namespace {

// Columns: slot, local and remote address, state, queues, timer, retransmits, uid, timeout, inode.
constexpr size_t kLocalColumn = 1;
constexpr size_t kStateColumn = 3;
constexpr size_t kInodeColumn = 9;

constexpr char kListens[] = "0A";  // TCP_LISTEN
constexpr size_t kPortDigits = 4;
constexpr size_t kShownBytes = 80;  // shown of a malformed row

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

}  // namespace gpuscaler
