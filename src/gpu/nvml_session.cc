#include "gpu/nvml_session.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu/nvml_error.h"
#include "gpu/nvml_processes.h"

namespace gpuscaler::nvml {
namespace {

absl::Status Failed(absl::string_view call, Return error) {
  return absl::UnavailableError(absl::StrCat(call, ": ", ErrorText(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const std::vector<std::string>& places) {
  ASSIGN_OR_RETURN(auto library, Library::Load(places));
  const Return result = library->calls().init();
  if (result != kSuccess) return Failed("nvmlInit", result);
  return std::unique_ptr<Session>(new Session(std::move(library)));
}

Session::Session(std::unique_ptr<Library> library)
    : library_(std::move(library)), calls_(library_->calls()) {
  char version[kTextSize] = {};
  if (Call(calls_.driver_version, version, kTextSize) == kSuccess) driver_version_ = version;
}

Session::~Session() {
  gpus_.clear();
  calls_.shutdown();
}

absl::StatusOr<int> Session::CountGpus() {
  unsigned count = 0;
  const Return result = calls_.count(&count);
  if (result != kSuccess) return Failed("nvmlDeviceGetCount", result);
  if (count != gpus_.size()) {
    gpus_.clear();  // an index may mean another GPU now
    gpus_.resize(count);
  }
  return static_cast<int>(count);
}

NvmlDevice* Session::Gpu(int index, Return& failure) {
  auto& gpu = gpus_[static_cast<size_t>(index)];
  if (gpu == nullptr) {
    gpu = NvmlDevice::Open(calls_, HasBrokenProcessesV3(driver_version_), index, failure);
  }
  return gpu.get();
}

}  // namespace gpuscaler::nvml
