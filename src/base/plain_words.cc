#include "base/plain_words.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace gpuscaler {

std::string PlainWords(absl::string_view words, size_t longest) {
  std::string plain(words.substr(0, longest));
  std::ranges::replace_if(
      plain, [](char c) { return !absl::ascii_isprint(c); }, '?');
  if (words.size() > longest) plain += "...";
  return plain;
}

}  // namespace gpuscaler
