#include "role/node_sampler.h"

#include <utility>

#include "role/open_attribution.h"
#include "trigger/trigger.h"

namespace gpuscaler {

NodeSampler::NodeSampler(const Config& config, const Clock& clock,
                         std::unique_ptr<GpuSource> source, Metrics& metrics)
    : interval_(config.poll_interval),
      source_(std::move(source)),
      store_(clock, config.StaleAfter(), kLongestWindow + config.StaleAfter()),
      gpu_time_({.idle_after = config.idle_after, .stale_after = config.StaleAfter()}),
      attribution_(OpenAttribution(config, clock)),
      sampler_(clock, *source_, leases_, store_, attribution_.get(),
               {.collected = [&metrics](const absl::Status& status,
                                        absl::Duration took) { metrics.Collected(status, took); },
                .annotated = [this](const NodeSnapshot& snapshot) { gpu_time_.Read(snapshot); },
                .processes_changed = [this] { WakeKubelet(); }}) {}

void NodeSampler::Start(std::function<void(const absl::Status&)> read,
                        absl::Duration kubelet_interval) {
  if (attribution_ != nullptr) {
    kubelet_thread_ = std::make_unique<PeriodicThread>("kubelet", kubelet_interval, [this] {
      if (attribution_->Query()) Wake();
    });
    wakeable_kubelet_ = kubelet_thread_.get();
  }
  sampler_thread_ = std::make_unique<PeriodicThread>(
      "sampler", interval_, [this, read = std::move(read)] { read(sampler_.Tick()); });
  wakeable_sampler_ = sampler_thread_.get();
}

void NodeSampler::Wake() {
  if (PeriodicThread* const sampler_thread = wakeable_sampler_) sampler_thread->Wake();
}

void NodeSampler::AddFormerPods(std::vector<Pod> pods) {
  if (attribution_ != nullptr) attribution_->AddFormerPods(std::move(pods));
}

void NodeSampler::WakeKubelet() {
  if (PeriodicThread* const kubelet_thread = wakeable_kubelet_) kubelet_thread->Wake();
}

std::vector<PeriodicThread*> NodeSampler::ReleaseThreads() {
  wakeable_sampler_ = nullptr;
  wakeable_kubelet_ = nullptr;
  return {sampler_thread_.get(), kubelet_thread_.get()};
}

void NodeSampler::Join() { StopAll(ReleaseThreads(), absl::InfiniteDuration()); }

}  // namespace gpuscaler
