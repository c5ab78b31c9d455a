#include "app/text_width.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

bool BeginsCodePoint(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

std::string Shortened(absl::string_view text, size_t width, bool ascii) {
  if (TextWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  return absl::StrCat(FirstColumns(text, width - 1), ascii ? "~" : "…");
}

std::string Blanks(absl::string_view text, size_t width) {
  return std::string(width - std::min(width, TextWidth(text)), ' ');
}

}  // namespace

size_t TextWidth(absl::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, BeginsCodePoint));
}

absl::string_view FirstColumns(absl::string_view text, size_t width) {
  size_t end = 0;
  for (size_t columns = 0; end < text.size(); ++end) {
    if (BeginsCodePoint(text[end]) && ++columns > width) break;
  }
  return text.substr(0, end);
}

std::string FittedLeft(absl::string_view text, size_t width, bool ascii) {
  const std::string shortened = Shortened(text, width, ascii);
  return absl::StrCat(shortened, Blanks(shortened, width));
}

std::string FittedRight(absl::string_view text, size_t width, bool ascii) {
  const std::string shortened = Shortened(text, width, ascii);
  return absl::StrCat(Blanks(shortened, width), shortened);
}

}  // namespace gpuscaler
