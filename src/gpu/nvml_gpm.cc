#include "gpu/nvml_gpm.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "gpu/nvml_error.h"

namespace gpuscaler::nvml {
namespace {

// nvml.h: samples less than 100 ms apart may be of the same refresh of the counters.
constexpr absl::Duration kShortestInterval = absl::Milliseconds(150);

// An administrator must change a permission, so queries at every reading would only cost time.
constexpr absl::Duration kPermissionBackOff = absl::Seconds(60);

constexpr std::array<uint32_t, 4> kMetrics = {kGpmGraphicsUtilization, kGpmSmUtilization,
                                              kGpmDramUtilization, kGpmTensorUtilization};

constexpr char kNoValueYet[] = "no value yet: GPM needs two samples";

struct ActivityRow {
  uint32_t metric;
  GpuField field;
  std::optional<double> GpuSample::*percent;
};
constexpr ActivityRow kActivity[] = {
    {kGpmSmUtilization, GpuField::kSmActivity, &GpuSample::sm_activity_percent},
    {kGpmDramUtilization, GpuField::kDramActivity, &GpuSample::dram_activity_percent},
    {kGpmTensorUtilization, GpuField::kTensorActivity, &GpuSample::tensor_activity_percent},
};

// Returns true if there is neither a value nor a failure yet.
bool Awaits(Return before, const GpmReader& gpm, uint32_t metric, GpuField field, Reading& reading,
            std::optional<double>& percent) {
  const Return result = before == kSuccess ? gpm.Percent(metric, percent) : before;
  return reading.Succeeded(field, result) && !percent;
}

}  // namespace

GpmReader::~GpmReader() {
  if (earlier_ != nullptr) Call(calls_.gpm_sample_free, earlier_);
  if (later_ != nullptr) Call(calls_.gpm_sample_free, later_);
}

Return GpmReader::Note(Return result, absl::Time now) {
  if (result == kNoPermission) retry_at_ = now + kPermissionBackOff;
  if (IsUnsupported(result)) supported_ = false;
  return result_ = result;
}

Return GpmReader::Query(Device gpu, absl::Time now) {
  if (supported_) return *supported_ ? kSuccess : kNotSupported;
  if (now < retry_at_) return result_;
  GpmSupport support{.version = GpmSupport::kVersion};
  Return result = Call(calls_.gpm_support, gpu, &support);
  if (result == kSuccess && support.supported == 0) result = kNotSupported;
  if (result == kSuccess) supported_ = true;
  return Note(result, now);
}

void GpmReader::Sample(Device gpu, std::optional<unsigned> gpu_instance, absl::Time now) {
  if (Query(gpu, now) != kSuccess || now < retry_at_) return;
  if (now - earlier_at_ < kShortestInterval) return;
  measured_ = false;
  if (Note(TakeSample(gpu, gpu_instance), now) == kSuccess) earlier_at_ = now;
}

Return GpmReader::TakeSample(Device gpu, std::optional<unsigned> gpu_instance) {
  Return result = kSuccess;
  if (later_ == nullptr) result = Call(calls_.gpm_sample_alloc, &later_);
  if (result != kSuccess) return result;
  result = gpu_instance ? Call(calls_.gpm_mig_sample, gpu, *gpu_instance, later_)
                        : Call(calls_.gpm_sample, gpu, later_);
  if (result == kSuccess && earlier_at_ != absl::InfinitePast()) result = Measure();
  if (result == kSuccess) std::swap(earlier_, later_);
  return result;
}

Return GpmReader::Measure() {
  const auto get = std::make_unique<GpmMetricsGet>();  // 19 KiB
  get->version = GpmMetricsGet::kVersion;
  get->count = kMetrics.size();
  get->earlier = earlier_;
  get->later = later_;
  for (size_t i = 0; i < kMetrics.size(); ++i) get->metrics[i].id = kMetrics[i];
  const Return result = Call(calls_.gpm_metrics, get.get());
  if (result != kSuccess) return result;
  std::copy_n(get->metrics, metrics_.size(), metrics_.begin());
  measured_ = true;
  const bool is_refused = std::ranges::all_of(
      metrics_, [](Return metric) { return metric == kNoPermission; }, &GpmMetric::result);
  return is_refused ? kNoPermission : kSuccess;
}

Return GpmReader::Percent(uint32_t metric, std::optional<double>& percent) const {
  if (result_ != kSuccess || !measured_) return result_;
  const auto found = std::ranges::find(metrics_, metric, &GpmMetric::id);
  if (found == metrics_.end()) return kNotSupported;
  if (found->result != kSuccess) return found->result;
  if (!std::isfinite(found->value)) return kNoData;
  percent = std::clamp(found->value, 0.0, 100.0);  // a quotient of counters: 100.3 happens
  return kSuccess;
}

void GpmReader::Forget() {
  earlier_at_ = absl::InfinitePast();
  measured_ = false;
}

void SetGpmUtilization(Return before, const GpmReader& gpm, Reading& reading) {
  if (Awaits(before, gpm, kGpmGraphicsUtilization, GpuField::kUtilization, reading,
             reading.sample.utilization_percent)) {
    reading.AddGap(GpuField::kUtilization, kNoValueYet);
  }
}

// The first sample under a lease has no value yet. That is no failure: calls of KEDA wait for the
// next reading.
void SetActivity(Return before, const GpmReader& gpm, Reading& reading) {
  for (const ActivityRow& row : kActivity) {
    if (Awaits(before, gpm, row.metric, row.field, reading, reading.sample.*row.percent)) {
      reading.AddNotWanted(row.field, kNoValueYet);
    }
  }
}

void AddActivityNotWanted(Reading& reading) {
  for (const ActivityRow& row : kActivity) reading.AddNotWanted(row.field);
}

}  // namespace gpuscaler::nvml
