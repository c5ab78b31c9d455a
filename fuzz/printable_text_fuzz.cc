// Untrusted texts in logs, messages and output.
#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "base/printable_text.h"
#include "fuzz_assert.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

bool IsUtf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();  // throws if it is not
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

bool HasControl(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

void CheckText(absl::string_view text) {
  const std::string line = EscapedLine(text);
  FUZZ_ASSERT(IsUtf8(line) && !HasControl(line));
  FUZZ_ASSERT(!absl::StartsWith(line, "::") && !absl::StrContains(line, "##["));
  FUZZ_ASSERT(EscapedLine(line) == line);
  FUZZ_ASSERT(EscapedLines({std::string(text), ""}) == line + "\n\n");
  for (const size_t longest : {1, 10, 200}) {
    const std::string words = PrintableText(text, longest);
    FUZZ_ASSERT(IsUtf8(words) && !HasControl(words) && words.size() <= longest + 3);
    FUZZ_ASSERT(text.size() > longest || PrintableText(words, longest) == words);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckText({reinterpret_cast<const char*>(data), size});
  return 0;
}
