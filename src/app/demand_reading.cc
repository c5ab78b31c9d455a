#include "app/demand_reading.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

// One reading that is missed is no gap.
absl::Duration LongestGap(const Config& config) {
  return std::max(3 * std::max(config.engine_interval, config.queue_interval), absl::Seconds(5));
}

}  // namespace

DemandReading::DemandReading(const Config& config, const Clock& clock, std::function<void()> wanted)
    : clock_(clock),
      allowed_(ParseAllowedEndpoints(config.allow_endpoints).value_or(AllowedEndpoints())),
      options_{.interval = config.engine_interval,
               .queue_interval = config.queue_interval,
               .longest_gap = LongestGap(config),
               .places = {.allowed = allowed_, .credential_folder = config.endpoint_credentials}},
      wanted_(std::move(wanted)),
      store_({.longest_gap = LongestGap(config)},
             {.wanted = [this] { Wake(); }, .changed = [] {}}) {}

void DemandReading::Wake() {
  wanted_();
  MutexLock lock(mutex_);
  if (watch_ == nullptr) {
    watch_ = std::make_unique<SignalWatch>(options_, clock_, store_);
  } else {
    watch_->Wake();
  }
}

}  // namespace gpuscaler
