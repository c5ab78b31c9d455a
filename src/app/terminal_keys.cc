#include "app/terminal_keys.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"

namespace gpuscaler {
namespace {

struct Sequence {
  absl::string_view bytes;  // after ESC [
  KeyCode code;
};

constexpr std::array<Sequence, 12> kSequences = {{
    {"A", KeyCode::kUp},
    {"B", KeyCode::kDown},
    {"C", KeyCode::kRight},
    {"D", KeyCode::kLeft},
    {"H", KeyCode::kHome},
    {"F", KeyCode::kEnd},
    {"1~", KeyCode::kHome},
    {"4~", KeyCode::kEnd},
    {"5~", KeyCode::kPageUp},
    {"6~", KeyCode::kPageDown},
    {"7~", KeyCode::kHome},
    {"8~", KeyCode::kEnd},
}};

std::optional<KeyCode> CodeOfSequence(absl::string_view bytes) {
  for (const Sequence& sequence : kSequences) {
    if (sequence.bytes == bytes) return sequence.code;
  }
  return std::nullopt;
}

// Removes the rest of a sequence after ESC from `bytes`, and returns it without "[" or "O".
// ECMA-48: parameters and intermediates are up to 0x3f, and one byte from 0x40 on ends it.
absl::string_view TakeSequence(absl::string_view& bytes) {
  size_t end = 1;
  if (bytes[0] == '[') {
    while (end < bytes.size() && static_cast<unsigned char>(bytes[end]) < 0x40) ++end;
  }
  const absl::string_view sequence = bytes.substr(1, end);
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  return sequence;
}

std::optional<Key> KeyOfByte(char byte) {
  switch (byte) {
    case '\t':
      return Key{.code = KeyCode::kTab};
    case '\r':
    case '\n':
      return Key{.code = KeyCode::kEnter};
    case '\b':
    case '\x7f':
      return Key{.code = KeyCode::kBackspace};
    default:
      if (!absl::ascii_isprint(static_cast<unsigned char>(byte))) return std::nullopt;
      return Key{.code = KeyCode::kCharacter, .character = byte};
  }
}

}  // namespace

std::vector<Key> KeysOf(absl::string_view bytes) {
  std::vector<Key> keys;
  while (!bytes.empty()) {
    const char first = bytes.front();
    bytes.remove_prefix(1);
    if (first != '\x1b') {
      if (const auto key = KeyOfByte(first)) keys.push_back(*key);
    } else if (bytes.empty() || (bytes.front() != '[' && bytes.front() != 'O')) {
      keys.push_back({.code = KeyCode::kEscape});
    } else if (const auto code = CodeOfSequence(TakeSequence(bytes))) {
      keys.push_back({.code = *code});
    }
  }
  return keys;
}

}  // namespace gpuscaler
