// Prices of GPU models, from the operator's file. None are built in.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cost/money.h"

namespace gpuscaler {

class PriceList {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  // Parses one of two forms of CSV, as its header shows:
  // - "GPU model,price per hour", with one model per line;
  // - OpenCost's: EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,
  //   MarketPriceHourly,Version. Rows with the AssetClass "gpu" count, and InstanceID has the
  //   model. If a model has several rows, the one with the latest EndTimestamp counts, or the last
  //   of those without one.
  // INVALID_ARGUMENT names the line and what is allowed.
  static absl::StatusOr<PriceList> Parse(absl::string_view text);

  // Compares without regard to case, and takes "-" and "_" for spaces: node labels spell models
  // "NVIDIA-H100-80GB-HBM3". Empty: the model has no price.
  std::optional<HourlyPrice> PriceOf(absl::string_view gpu_model) const;

  size_t size() const { return prices_.size(); }

 private:
  std::map<std::string, HourlyPrice> prices_;  // key: the model's name as it is compared
};

}  // namespace gpuscaler
