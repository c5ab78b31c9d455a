#include "base/printable_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Sorted. Unicode 15: categories Cc, Cf, Zl, Zp, Co and Cn (noncharacters), and other characters
// without a glyph (fillers, variation selectors).
constexpr Range kNotPrintable[] = {
    {0x0000, 0x001f},     // controls
    {0x007f, 0x009f},     // controls
    {0x00ad, 0x00ad},     // soft hyphen
    {0x034f, 0x034f},     // grapheme joiner
    {0x0600, 0x0605},     // Arabic number signs
    {0x061c, 0x061c},     // direction mark
    {0x06dd, 0x06dd},     // end of ayah
    {0x070f, 0x070f},     // Syriac abbreviation
    {0x0890, 0x0891},     // Arabic pound signs
    {0x08e2, 0x08e2},     // disputed end of ayah
    {0x115f, 0x1160},     // fillers
    {0x17b4, 0x17b5},     // inherent vowels
    {0x180b, 0x180f},     // variation selectors
    {0x200b, 0x200f},     // zero width, direction marks
    {0x2028, 0x202e},     // line separators, direction embedding and override
    {0x2060, 0x206f},     // joiners, direction isolates
    {0x3164, 0x3164},     // filler
    {0xe000, 0xf8ff},     // private use
    {0xfdd0, 0xfdef},     // noncharacters
    {0xfe00, 0xfe0f},     // variation selectors
    {0xfeff, 0xfeff},     // byte order mark
    {0xffa0, 0xffa0},     // filler
    {0xfff0, 0xfffb},     // annotations
    {0xfffe, 0xffff},     // noncharacters
    {0x110bd, 0x110bd},   // Kaithi number sign
    {0x110cd, 0x110cd},   // Kaithi number sign
    {0x13430, 0x1343f},   // controls of hieroglyphs
    {0x1bca0, 0x1bca3},   // controls of shorthand
    {0x1d173, 0x1d17a},   // controls of music
    {0xe0000, 0x10ffff},  // tags, variation selectors, private use
};

bool IsPrintable(uint32_t character) {
  const auto* const range = std::ranges::lower_bound(kNotPrintable, character, {}, &Range::last);
  return range == std::end(kNotPrintable) || character < range->first;
}

struct Decoded {
  uint32_t character = 0;
  size_t bytes = 0;  // 0: the text does not begin with a character in UTF-8
};

// Decodes the first character (RFC 3629): the shortest form only, up to U+10FFFF, no surrogates.
// Requires a text that is not empty.
Decoded FirstOf(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  constexpr uint32_t kSmallestOf[] = {0, 0, 0x80, 0x800, 0x10000};  // index: the number of bytes
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {.character = lead, .bytes = 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
  if (bytes == 0 || lead > 0xf4 || bytes > text.size()) return {};
  uint32_t character = lead & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    character = character << 6 | (byte(i) & 0x3fu);
  }
  const bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
  if (character < kSmallestOf[bytes] || character > 0x10ffff || is_surrogate) return {};
  return {.character = character, .bytes = bytes};
}

// Returns true for a tab and for category Zs of Unicode 15.
bool IsBlank(uint32_t character) {
  return character == ' ' || character == '\t' || character == 0xa0 || character == 0x1680 ||
         (character >= 0x2000 && character <= 0x200a) || character == 0x202f ||
         character == 0x205f || character == 0x3000;
}

// Returns true for "##[error]", "##vso[task...]" and "##teamcity[...]", which are commands anywhere
// in a line of a CI log.
bool BeginsCiCommand(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "##")) return false;
  const auto* const end = std::ranges::find_if_not(text, absl::ascii_isalpha);
  return end != text.end() && *end == '[';
}

std::string Escaped(uint32_t character) {
  switch (character) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (character < 0x80) return absl::StrFormat("\\x%02x", character);
  if (character <= 0xffff) return absl::StrFormat("\\u%04x", character);
  return absl::StrFormat("\\U%08x", character);
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return true;
  while (!text.empty()) {
    const size_t bytes = FirstOf(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string BeginningOf(absl::string_view text, size_t longest) {
  if (text.size() <= longest) return std::string(text);
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
  return std::string(text.substr(0, longest));
}

std::string EscapedLine(absl::string_view line) {
  std::string escaped;
  bool only_blanks = true;  // GitHub Actions runs a line that begins with "::" behind blanks
  while (!line.empty()) {
    const Decoded first = FirstOf(line);
    const size_t bytes = std::max<size_t>(first.bytes, 1);
    if (first.bytes == 0) {
      absl::StrAppendFormat(&escaped, "\\x%02x", static_cast<uint8_t>(line[0]));
    } else if (!IsPrintable(first.character) || BeginsCiCommand(line) ||
               (only_blanks && absl::StartsWith(line, "::"))) {
      escaped += Escaped(first.character);
    } else {
      escaped.append(line.data(), bytes);
    }
    only_blanks = only_blanks && first.bytes > 0 && IsBlank(first.character);
    line.remove_prefix(bytes);
  }
  return escaped;
}

std::string EscapedLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, EscapedLine(line), "\n");
  return text;
}

std::vector<std::string> LinesWithoutBlankEnd(absl::string_view text) {
  while (absl::ConsumeSuffix(&text, "\n")) continue;
  return absl::StrSplit(text, '\n');
}

std::string PrintableText(absl::string_view words, size_t longest) {
  std::string plain;
  while (!words.empty()) {
    const Decoded first = FirstOf(words);
    const bool is_shown = first.bytes > 0 && IsPrintable(first.character);
    const absl::string_view shown = is_shown ? words.substr(0, first.bytes) : "?";
    if (plain.size() + shown.size() > longest) return plain + "...";
    plain.append(shown.data(), shown.size());
    words.remove_prefix(std::max<size_t>(first.bytes, 1));
  }
  return plain;
}

}  // namespace gpuscaler
