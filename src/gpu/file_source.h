// Simulated GPUs from a JSON file, which is read again at every reading.
#pragma once

#include <string>
#include <vector>

#include "gpu/gpu_file.h"
#include "gpu/gpu_source.h"

namespace gpuscaler {

// Not thread-safe. Read() blocks while it reads the file.
class FileSource : public GpuSource {
 public:
  FileSource(std::string path, std::string node, const Clock& clock);

  // Returns the present frame. UNAVAILABLE names the file and the faulty line. The next reading
  // tries again. A file replaced by rename works like one written in place. Frames begin when their
  // text is first read.
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override;

 private:
  const std::string path_;
  const std::string node_;
  const Clock& clock_;
  std::string text_;  // the text of frames_, which are parsed again only if it differs
  absl::StatusOr<std::vector<GpuFrame>> frames_;
  absl::Time began_at_;
};

}  // namespace gpuscaler
