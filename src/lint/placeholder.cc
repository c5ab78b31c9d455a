#include "lint/placeholder.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace gpuscaler {
namespace {

bool BeginsPlaceholder(char c) {
  return c == '{' || c == '(' || c == '_' || absl::ascii_isalpha(c);
}

}  // namespace

bool HasPlaceholder(absl::string_view text) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '$' && BeginsPlaceholder(text[i + 1])) return true;
  }
  return absl::StrContains(text, "{{");
}

}  // namespace gpuscaler
