// Untrusted texts in logs, messages and output.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "base/printable_text.h"
#include "fuzz_assert.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

bool IsJsonText(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();  // throws if it is not
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// Unicode 15: Cc, the line separators, and Default_Ignorable_Code_Point
// (DerivedCoreProperties.txt), which includes all direction marks, zero-width characters and
// variation selectors.
constexpr std::pair<uint32_t, uint32_t> kInvisible[] = {
    {0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},    {0x61c, 0x61c},
    {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},  {0x2028, 0x202e},
    {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},  {0xffa0, 0xffa0},
    {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

// Requires UTF-8.
bool HasInvisible(absl::string_view text) {
  uint32_t character = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < 0xc0) {
      character = byte < 0x80 ? byte : character << 6 | (byte & 0x3fu);
    } else {
      character = byte & (byte < 0xe0 ? 0x1fu : byte < 0xf0 ? 0xfu : 7u);
    }
    const bool is_last = i + 1 == text.size() || (static_cast<uint8_t>(text[i + 1]) & 0xc0) != 0x80;
    if (is_last && std::ranges::any_of(kInvisible, [character](const auto& range) {
          return character >= range.first && character <= range.second;
        })) {
      return true;
    }
  }
  return false;
}

void CheckText(absl::string_view text) {
  const std::string line = EscapedLine(text);
  FUZZ_ASSERT(IsUtf8(text) == IsJsonText(std::string(text)));
  FUZZ_ASSERT(IsJsonText(line) && !HasInvisible(line));
  FUZZ_ASSERT(!absl::StartsWith(line, "::") && !absl::StrContains(line, "##["));
  FUZZ_ASSERT(EscapedLine(line) == line);
  FUZZ_ASSERT(EscapedLines({std::string(text), ""}) == line + "\n\n");
  for (const size_t longest : {1, 10, 200}) {
    const std::string words = PrintableText(text, longest);
    const std::string beginning = BeginningOf(text, longest);
    FUZZ_ASSERT(beginning.size() <= longest && (!IsUtf8(text) || IsUtf8(beginning)));
    FUZZ_ASSERT(IsJsonText(words) && !HasInvisible(words) && words.size() <= longest + 3);
    FUZZ_ASSERT(text.size() > longest || PrintableText(words, longest) == words);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckText({reinterpret_cast<const char*>(data), size});
  return 0;
}
