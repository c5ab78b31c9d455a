// GPUs as dcgm-exporter shows them, for clusters that run it already.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu/dcgm_endpoint.h"
#include "gpu/dcgm_exposition.h"
#include "gpu/dcgm_movement.h"
#include "gpu/gpu_source.h"

namespace gpuscaler {

// A reading is as old as the exporter's last collection, and says so: while the page stands still,
// that of before comes again with its time. A page without energy counters cannot tell, and counts
// as new every time. An empty page is no node without GPUs: exporters show one while they start.
//
// A GPU that falls off the page has been lost, or its exporter was told to look at fewer: it stays,
// unreadable and held as before, for 5 minutes.
class DcgmSource : public GpuSource {
 public:
  // `names_pods`: the pods of the page are holders, without owners. `clock` outlives the source.
  DcgmSource(HttpEndpoint endpoint, DcgmAccess access, bool names_pods, std::string node,
             const Clock& clock);

  // Asks the exporter once a second at most: it asks the kubelet in turn, each time.
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override;

 private:
  struct Known {
    DcgmDevice device;
    GpuSample sample;
    absl::Time seen_at;
  };

  absl::StatusOr<NodeSnapshot> ReadNow();
  absl::Status AtUrl(absl::string_view what) const;
  absl::StatusOr<NodeSnapshot> Steady(absl::Time now) const;
  NodeSnapshot Take(DcgmExposition page, absl::Time now);
  std::vector<DcgmDevice> WithLost(std::vector<DcgmDevice> devices, absl::Time now);
  GpuSample Sample(const DcgmDevice& device, absl::Time now);
  void NoteAge(absl::Time now);  // of a page that is new

  const std::string url_;
  const bool names_pods_;
  const std::string node_;
  const Clock& clock_;
  DcgmEndpoint endpoint_;
  DcgmMovement movement_;
  std::map<std::string, Known> known_;  // by UuidOf()
  absl::Time asked_at_ = absl::InfinitePast();
  absl::StatusOr<NodeSnapshot> answer_;  // to the last question
  NodeSnapshot newest_;                  // that was measured
  int moves_ = 0;                        // of the page, the first one among them
};

}  // namespace gpuscaler
