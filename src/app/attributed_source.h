// GPUs with their holders, for a reader without a thread that asks the kubelet for it.
#pragma once

#include "absl/time/time.h"
#include "base/clock.h"
#include "gpu/gpu_source.h"
#include "workload/attribution.h"

namespace gpuscaler {

// A reading waits for the kubelet's answer, where it is time to ask: at the first one, when other
// processes are on the GPUs, and every kKubeletInterval. All references outlive it.
class AttributedSource : public GpuSource {
 public:
  AttributedSource(const Clock& clock, GpuSource& source, KubeletAttribution& attribution)
      : clock_(clock), source_(source), attribution_(attribution) {}

  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override {
    if (is_due_ || clock_.Now() - asked_at_ >= kKubeletInterval) {
      asked_at_ = clock_.Now();
      attribution_.Ask();
    }
    absl::StatusOr<NodeSnapshot> snapshot = source_.Read(wanted);
    is_due_ = snapshot.ok() && attribution_.Annotate(*snapshot);
    return snapshot;
  }

 private:
  const Clock& clock_;
  GpuSource& source_;
  KubeletAttribution& attribution_;
  absl::Time asked_at_ = absl::InfinitePast();
  bool is_due_ = false;
};

}  // namespace gpuscaler
