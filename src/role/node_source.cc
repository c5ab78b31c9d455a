#include "role/node_source.h"

#include <utility>

#include "base/status_macros.h"
#include "workload/exporter_owners.h"

namespace gpuscaler {
namespace {

class SourceWithOwners : public GpuSource {
 public:
  explicit SourceWithOwners(std::unique_ptr<GpuSource> source) : source_(std::move(source)) {}

  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override {
    absl::StatusOr<NodeSnapshot> snapshot = source_->Read(wanted);
    if (snapshot.ok()) owners_.Annotate(*snapshot);
    return snapshot;
  }

 private:
  const std::unique_ptr<GpuSource> source_;
  ExporterOwners owners_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GpuSource>> OpenNodeSource(const Config& config,
                                                          const std::string& node,
                                                          const Clock& clock) {
  const bool names_pods = config.attribution == AttributionMode::kPage;
  ASSIGN_OR_RETURN(std::unique_ptr<GpuSource> source,
                   OpenGpuSource(config.gpu_source, node, clock,
                                 {.access = {.ca_file = config.gpu_source_ca,
                                             .credentials_file = config.gpu_source_credentials},
                                  .names_pods = names_pods},
                                 config.sysfs_root));
  if (!names_pods) return source;
  return std::make_unique<SourceWithOwners>(std::move(source));
}

}  // namespace gpuscaler
