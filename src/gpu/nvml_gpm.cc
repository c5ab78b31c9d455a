#include "gpu/nvml_gpm.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace gpuscaler::nvml {
namespace {

// nvml.h: samples less than 100 ms apart may be of the same refresh of the counters.
constexpr absl::Duration kShortestInterval = absl::Milliseconds(150);

}  // namespace

Return QueryGpm(const NvmlFunctions& calls, Device gpu, bool& supported) {
  GpmSupport support{.version = GpmSupport::kVersion};
  const Return result = Call(calls.gpm_support, gpu, &support);
  if (result == kSuccess) supported = support.supported != 0;
  return result;
}

GpmUtilization::~GpmUtilization() {
  if (earlier_ != nullptr) Call(calls_.gpm_sample_free, earlier_);
  if (later_ != nullptr) Call(calls_.gpm_sample_free, later_);
}

Return GpmUtilization::Read(Device parent, unsigned gpu_instance, absl::Time now,
                            std::optional<double>& percent) {
  percent = last_;
  if (now - earlier_at_ < kShortestInterval) return kSuccess;
  if (later_ == nullptr) {
    const Return result = Call(calls_.gpm_sample_alloc, &later_);
    if (result != kSuccess) return result;
  }
  Return result = Call(calls_.gpm_mig_sample, parent, gpu_instance, later_);
  percent.reset();
  if (result == kSuccess && earlier_ != nullptr) result = Measure(percent);
  last_ = percent;
  if (result != kSuccess) return result;
  std::swap(earlier_, later_);
  earlier_at_ = now;
  return kSuccess;
}

Return GpmUtilization::Measure(std::optional<double>& percent) const {
  const auto get = std::make_unique<GpmMetricsGet>();  // 19 KiB
  get->version = GpmMetricsGet::kVersion;
  get->count = 1;
  get->earlier = earlier_;
  get->later = later_;
  get->metrics[0].id = kGpmGraphicsUtilization;
  const Return result = Call(calls_.gpm_metrics, get.get());
  if (result != kSuccess) return result;
  const GpmMetric& metric = get->metrics[0];
  if (metric.result != kSuccess) return metric.result;
  if (!std::isfinite(metric.value)) return kNoData;
  percent = std::clamp(metric.value, 0.0, 100.0);  // a quotient of counters: 100.3 happens
  return kSuccess;
}

}  // namespace gpuscaler::nvml
