// Files of prices, which operators write and spreadsheets export.
#include <cstdint>

#include "cost/price_list.h"
#include "fuzz_assert.h"

namespace gpuscaler {
namespace {

void CheckPrices(absl::string_view text) {
  const absl::StatusOr<PriceList> prices = PriceList::Parse(text);
  if (!prices.ok()) {
    FUZZ_ASSERT(prices.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  FUZZ_ASSERT(prices->size() > 0);
  const auto price = prices->PriceOf("NVIDIA L4");
  FUZZ_ASSERT(!price || price->micro_units >= 0);
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckPrices({reinterpret_cast<const char*>(data), size});
  return 0;
}
