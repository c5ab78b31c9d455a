#include "fleet/wire_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

bool IsControl(char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7F; }

}  // namespace

bool HasControl(absl::string_view text) { return std::ranges::any_of(text, IsControl); }

// Cuts between characters: a partial one is not valid UTF-8, and protobuf cannot send it.
void CleanText(std::string& text) {
  size_t end = std::min(text.size(), kLongestText);
  const auto continues = [&](size_t i) { return (static_cast<uint8_t>(text[i]) & 0xC0) == 0x80; };
  while (end > 0 && end < text.size() && continues(end)) --end;
  text.resize(end);
  std::ranges::replace_if(text, IsControl, ' ');
}

absl::Status CheckName(absl::string_view what, absl::string_view name, size_t longest) {
  if (name.size() > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " of ", name.size(), " characters, at most ", longest));
  }
  if (!HasControl(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " with a control character"));
}

absl::Status CheckCount(absl::string_view what, int64_t count, int64_t most) {
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(count, " ", what, ", at most ", most));
}

}  // namespace gpuscaler
