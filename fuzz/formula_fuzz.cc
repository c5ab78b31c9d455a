// Formulas of scalingModifiers, which tenants write.
#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "fuzz_assert.h"
#include "trigger/formula.h"

namespace gpuscaler {
namespace {

bool IsName(absl::string_view name) {
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(name,
                             [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

void CheckFormula(absl::string_view formula) {
  const std::vector<std::string> names = TriggersIn(formula);
  for (const std::string& name : names) {
    FUZZ_ASSERT(IsName(name) && absl::StrContains(formula, name));
  }
  for (const std::string& name : TriggersInMin(formula)) {
    FUZZ_ASSERT(IsName(name) && absl::StrContains(formula, name));
    FUZZ_ASSERT(names.empty() || std::ranges::find(names, name) != names.end());
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckFormula({reinterpret_cast<const char*>(data), size});
  return 0;
}
