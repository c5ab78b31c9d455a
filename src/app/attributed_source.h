// GPUs with their holders, for callers without a thread that queries the kubelet.
#pragma once

#include "absl/time/time.h"
#include "base/clock.h"
#include "gpu/gpu_source.h"
#include "workload/attribution.h"

namespace gpuscaler {

// Read() blocks for the kubelet's reply, for at most two timeouts, if a query is due: at first,
// when other processes are on the GPUs, and every kKubeletInterval. All references must outlive
// this. Not thread-safe.
class AttributedSource : public GpuSource {
 public:
  AttributedSource(const Clock& clock, GpuSource& source, KubeletAttribution& attribution)
      : clock_(clock), source_(source), attribution_(attribution) {}

  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override {
    if (is_due_ || clock_.Now() - queried_at_ >= kKubeletInterval) {
      queried_at_ = clock_.Now();
      attribution_.Query();
    }
    absl::StatusOr<NodeSnapshot> snapshot = source_.Read(wanted);
    is_due_ = snapshot.ok() && attribution_.Annotate(*snapshot);
    return snapshot;
  }

 private:
  const Clock& clock_;
  GpuSource& source_;
  KubeletAttribution& attribution_;
  absl::Time queried_at_ = absl::InfinitePast();
  bool is_due_ = false;
};

}  // namespace gpuscaler
