#include "gpu/file_source.h"

#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "base/status_macros.h"
#include "gpu/gpu_file.h"

namespace gpuscaler {
namespace {

absl::StatusOr<std::string> Contents(const std::string& path) {
  auto text = ReadFileText(path);
  if (text.ok()) return text;
  return absl::UnavailableError(text.status().message());
}

absl::StatusOr<std::vector<GpuFrame>> Parsed(const std::string& path, absl::string_view text) {
  auto frames = ParseGpuFile(text);
  if (frames.ok()) return frames;
  return absl::UnavailableError(absl::StrCat(path, ":", frames.status().message()));
}

// PCIe readings cost nothing in a file, but the source behaves like hardware.
void LeaveOutPcie(GpuSample& gpu) {
  const GpuGap* gap = FindGap(gpu, GpuField::kPcie);
  if (gap == nullptr && !gpu.pcie_tx_kbps && !gpu.pcie_rx_kbps) return;
  gpu.pcie_tx_kbps.reset();
  gpu.pcie_rx_kbps.reset();
  if (gap != nullptr) gpu.gaps.erase(gpu.gaps.begin() + (gap - gpu.gaps.data()));
  gpu.gaps.push_back({GpuField::kPcie, GpuGap::Reason::kNotRequested, ""});
}

}  // namespace

FileSource::FileSource(std::string path, std::string node, const Clock& clock)
    : path_(std::move(path)),
      node_(std::move(node)),
      clock_(clock),
      frames_(Parsed(path_, text_)) {}

absl::StatusOr<NodeSnapshot> FileSource::Read(const CostlyReadings& wanted) {
  ASSIGN_OR_RETURN(std::string text, Contents(path_));
  if (text != text_) {
    text_ = std::move(text);
    frames_ = Parsed(path_, text_);
    began_at_ = clock_.Now();
  }
  RETURN_IF_ERROR(frames_.status());
  const absl::Time now = clock_.Now();
  NodeSnapshot snapshot = FrameAt(*frames_, now - began_at_).snapshot;
  snapshot.taken_at = now;
  snapshot.node = node_;
  snapshot.source = absl::StrCat("file:", path_);
  if (!wanted.pcie) {
    for (GpuSample& gpu : snapshot.gpus) LeaveOutPcie(gpu);
  }
  return snapshot;
}

}  // namespace gpuscaler
