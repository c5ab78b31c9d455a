#include "gpu/file_source.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

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

using NumberMember = std::optional<double> GpuSample::*;

// Costly readings cost nothing in a file, but the source behaves like hardware.
void LeaveOut(GpuField field, std::initializer_list<NumberMember> readings, GpuSample& gpu) {
  const GpuGap* gap = FindGap(gpu, field);
  const bool has_any = std::ranges::any_of(
      readings, [&gpu](NumberMember reading) { return (gpu.*reading).has_value(); });
  if (gap == nullptr && !has_any) return;
  for (const NumberMember reading : readings) (gpu.*reading).reset();
  if (gap != nullptr) gpu.gaps.erase(gpu.gaps.begin() + (gap - gpu.gaps.data()));
  gpu.gaps.push_back({field, GpuGap::Reason::kNotRequested, ""});
}

void LeaveOutAllBut(const CostlyReadings& wanted, GpuSample& gpu) {
  if (!wanted.pcie) {
    LeaveOut(GpuField::kPcie, {&GpuSample::pcie_tx_kbps, &GpuSample::pcie_rx_kbps}, gpu);
  }
  if (wanted.activity) return;
  LeaveOut(GpuField::kSmActivity, {&GpuSample::sm_activity_percent}, gpu);
  LeaveOut(GpuField::kDramActivity, {&GpuSample::dram_activity_percent}, gpu);
  LeaveOut(GpuField::kTensorActivity, {&GpuSample::tensor_activity_percent}, gpu);
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
  for (GpuSample& gpu : snapshot.gpus.Own()) LeaveOutAllBut(wanted, gpu);
  return snapshot;
}

}  // namespace gpuscaler
