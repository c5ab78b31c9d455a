// GPUs as dcgm-exporter reports them, for clusters that already run it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu/dcgm_collection_detector.h"
#include "gpu/dcgm_endpoint.h"
#include "gpu/dcgm_exposition.h"
#include "gpu/gpu_source.h"

namespace gpuscaler {

// A reading has the time of the exporter's last collection. While the exposition does not change,
// the snapshot before is returned, with its time. An exposition without energy counters has an
// unknown age, and counts as new every time. An empty exposition is an error, not a node without
// GPUs: exporters serve one while they start.
//
// A GPU that disappears from the exposition has been lost, or its exporter was configured to watch
// fewer. It stays in snapshots for 5 minutes, unreadable and with the same holders.
class DcgmSource : public GpuSource {
 public:
  // `names_pods`: the pods in the exposition become holders, without owners. `clock` must outlive
  // the source.
  DcgmSource(HttpEndpoint endpoint, DcgmAccess access, bool names_pods, std::string node,
             const Clock& clock);

  // Queries the exporter at most once a second: the exporter queries the kubelet each time.
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override;

 private:
  struct KnownDevice {
    DcgmDevice device;
    GpuSample sample;
    absl::Time seen_at;
  };

  absl::StatusOr<NodeSnapshot> ReadNow();
  absl::Status AtUrl(absl::string_view what) const;
  absl::StatusOr<NodeSnapshot> Unchanged(absl::Time now) const;
  NodeSnapshot ToSnapshot(DcgmExposition page, absl::Time now);
  std::vector<DcgmDevice> AddLost(std::vector<DcgmDevice> devices, absl::Time now);
  GpuSample Sample(const DcgmDevice& device, absl::Time now);
  void LogInterval(absl::Time now);  // requires a new page

  const std::string url_;
  const bool names_pods_;
  const std::string node_;
  const Clock& clock_;
  DcgmEndpoint endpoint_;
  DcgmCollectionDetector collection_;
  std::map<std::string, KnownDevice> known_;  // key: UuidOf()
  absl::Time requested_at_ = absl::InfinitePast();
  absl::StatusOr<NodeSnapshot> result_;  // result of the last query
  NodeSnapshot collected_;               // last snapshot that was collected
  int collections_ = 0;                  // collections seen, the first included
};

}  // namespace gpuscaler
