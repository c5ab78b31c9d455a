#include "role/signal_reader.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

// A longer time between two readings is a gap, in the clock's time. One missed reading leaves none.
absl::Duration MaxGapOf(const Config& config, double clock_speed) {
  const absl::Duration of_polls = 3 * std::max(config.engine_interval, config.queue_interval);
  return std::max(of_polls, absl::Seconds(5)) * clock_speed;
}

}  // namespace

EndpointRules EndpointRulesOf(const Config& config) {
  return EndpointRules(ParseAllowedEndpoints(config.allow_endpoints).value_or(AllowedEndpoints()),
                       config.cluster_domain);
}

SignalReader::SignalReader(const Config& config, const Clock& clock,
                           std::function<void()> on_new_source, const DemoOverrides& overrides)
    : clock_(clock),
      options_{.interval = config.engine_interval,
               .queue_interval = config.queue_interval,
               .max_gap = MaxGapOf(config, overrides.clock_speed),
               .locator = {.rules = EndpointRulesOf(config),
                           .credential_folder = config.endpoint_credentials,
                           .dns = overrides.addresses}},
      on_new_source_(std::move(on_new_source)),
      store_({.max_gap = options_.max_gap}, [this] { Wake(); }) {}

std::vector<PeriodicThread*> SignalReader::ReleaseThreads() {
  MutexLock lock(mutex_);
  are_threads_released_ = true;
  if (watch_ == nullptr) return {};
  return {&watch_->thread()};
}

void SignalReader::Wake() {
  on_new_source_();
  MutexLock lock(mutex_);
  if (watch_ != nullptr) {
    watch_->Wake();
  } else if (!are_threads_released_) {
    watch_ = std::make_unique<SignalWatch>(options_, clock_, store_);
  }
}

}  // namespace gpuscaler
