#include "lab/demo_gpu_file.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simulate/gpu_slot.h"

namespace gpuscaler {

absl::StatusOr<DemoGpuFile> DemoGpuFile::Open() {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::temp_directory_path(error);
  std::string folder = (root / "keda-gpu-scaler-demo.XXXXXX").string();
  if (error || mkdtemp(folder.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat("no folder for temporary files: ", folder));
  }
  return DemoGpuFile(folder);
}

DemoGpuFile::DemoGpuFile(DemoGpuFile&& other) noexcept
    : folder_(std::exchange(other.folder_, "")) {}

DemoGpuFile::~DemoGpuFile() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

absl::Status DemoGpuFile::Write(const std::string& text) const {
  if (ReplaceGpuFile(path(), text)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", path()));
}

}  // namespace gpuscaler
