// Simulated GPUs: a JSON file, read again at every reading.
#pragma once

#include <string>
#include <vector>

#include "gpu/gpu_file.h"
#include "gpu/gpu_source.h"

namespace gpuscaler {

class FileSource : public GpuSource {
 public:
  FileSource(std::string path, std::string node, const Clock& clock);

  // UNAVAILABLE names the file and the line that is wrong; the next reading looks again. A file
  // replaced by rename counts as much as one written in place. Frames begin when their text is
  // first read.
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override;

 private:
  const std::string path_;
  const std::string node_;
  const Clock& clock_;
  std::string text_;  // what frames_ were made from: parsed anew only when the bytes differ
  absl::StatusOr<std::vector<GpuFrame>> frames_;
  absl::Time began_at_;
};

}  // namespace gpuscaler
