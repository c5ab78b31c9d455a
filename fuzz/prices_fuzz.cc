// Files of prices, which operators write and spreadsheets export.
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cost/price_list.h"
#include "fuzz_assert.h"

namespace gpuscaler {
namespace {

// Returns the models' names in the cells, as they are compared. A quoted cell with a comma is
// split.
std::set<std::string> ModelsIn(absl::string_view text, const PriceList& prices) {
  std::set<std::string> models;
  for (const absl::string_view cell : absl::StrSplit(text, absl::ByAnyChar(",\n"))) {
    const auto price = prices.PriceOf(cell);
    if (!price) continue;
    FUZZ_ASSERT(price->micro_units >= 0 && price->micro_units <= 1'000'000'000'000);
    std::string model = absl::StrReplaceAll(absl::AsciiStrToLower(cell), {{"-", " "}, {"_", " "}});
    absl::RemoveExtraAsciiWhitespace(&model);
    FUZZ_ASSERT(prices.PriceOf(model) == price);
    models.insert(model);
  }
  return models;
}

void CheckPrices(absl::string_view text) {
  const absl::StatusOr<PriceList> prices = PriceList::Parse(text);
  if (!prices.ok()) {
    FUZZ_ASSERT(prices.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  FUZZ_ASSERT(prices->size() > 0);
  const size_t found = ModelsIn(text, *prices).size();
  FUZZ_ASSERT(found <= prices->size());
  FUZZ_ASSERT(found == prices->size() || absl::StrContains(text, '"'));
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckPrices({reinterpret_cast<const char*>(data), size});
  return 0;
}
