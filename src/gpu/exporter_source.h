// GPUs as an exporter reports them, for clusters that already run it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu/exporter_collection_detector.h"
#include "gpu/exporter_endpoint.h"
#include "gpu/exporter_exposition.h"
#include "gpu/exporter_schema.h"
#include "gpu/gpu_source.h"

namespace gpuscaler {

// A reading has the time of the exporter's last collection. While the exposition does not change,
// the snapshot before is returned, with its time. An exposition without energy counters has an
// unknown age, and counts as new every time. An empty exposition is an error, not a node without
// GPUs: exporters serve one while they start.
//
// A GPU that disappears from the exposition has been lost, or its exporter was configured to watch
// fewer. It stays in snapshots for 5 minutes, unreadable and with the same holders. Not
// thread-safe.
class ExporterSource : public GpuSource {
 public:
  // `names_pods`: the pods in the exposition become holders, without owners. `schema` and
  // `clock` must outlive the source.
  ExporterSource(const ExporterSchema& schema, HttpEndpoint endpoint, ExporterAccess access,
                 bool names_pods, std::string node, const Clock& clock);

  // Queries the exporter at most once a second: the exporter queries the kubelet each time. Blocks
  // as ExporterEndpoint::Get() does.
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override;

 private:
  struct KnownDevice {
    ExporterDevice device;
    GpuSample sample;
    absl::Time seen_at;
  };

  absl::StatusOr<NodeSnapshot> ReadNow();
  absl::Status AtUrl(absl::string_view what) const;
  absl::StatusOr<NodeSnapshot> Unchanged(absl::Time now) const;
  NodeSnapshot ToSnapshot(ExporterExposition page, absl::Time now);
  std::vector<ExporterDevice> AddLost(std::vector<ExporterDevice> devices, absl::Time now);
  GpuSample Sample(const ExporterDevice& device, absl::Time now);
  void LogInterval(absl::Time now);  // requires a new page

  std::string NotOnPage() const;

  const ExporterSchema& schema_;
  const std::string url_;
  const bool names_pods_;
  const std::string node_;
  const Clock& clock_;
  ExporterEndpoint endpoint_;
  ExporterCollectionDetector collection_;
  std::map<std::string, KnownDevice> known_;  // key: UuidOf()
  absl::Time requested_at_ = absl::InfinitePast();
  absl::StatusOr<NodeSnapshot> result_;  // result of the last query
  NodeSnapshot collected_;               // last snapshot that was collected
  int collections_ = 0;                  // collections seen, the first included
};

}  // namespace gpuscaler
