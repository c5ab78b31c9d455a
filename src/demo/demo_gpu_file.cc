#include "demo/demo_gpu_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

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
  const std::string next = path() + ".new";
  std::ofstream file(next, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(next, path(), error);
  if (!file || error) return absl::UnavailableError(absl::StrCat("cannot write ", path()));
  return absl::OkStatus();
}

}  // namespace gpuscaler
