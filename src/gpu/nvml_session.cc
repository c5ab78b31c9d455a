#include "gpu/nvml_session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu/nvml_error.h"
#include "gpu/nvml_links.h"
#include "gpu/nvml_processes.h"

namespace gpuscaler::nvml {
namespace {

absl::Status Failed(absl::string_view call, Return error) {
  return absl::UnavailableError(absl::StrCat(call, ": ", ErrorText(error)));
}

// Apart from errors, a fabric that is not set up yet takes minutes after the start of the node.
constexpr absl::Duration kLinksInterval = absl::Minutes(1);

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

const std::map<std::string, std::string>& Session::LinkGroups(absl::Time now) {
  const auto is_new = [this](const std::unique_ptr<NvmlDevice>& gpu) {
    return gpu != nullptr && !link_groups_.contains(gpu->uuid());
  };
  const bool is_due = !links_are_complete_ && now - read_links_at_ >= kLinksInterval;
  if (!is_due && std::ranges::none_of(gpus_, is_new)) return link_groups_;
  std::vector<Device> devices;
  std::vector<std::string> uuids;
  for (const std::unique_ptr<NvmlDevice>& gpu : gpus_) {
    if (gpu == nullptr) continue;
    devices.push_back(gpu->handle());
    uuids.push_back(gpu->uuid());
  }
  const nvml::LinkGroups groups = ReadLinkGroups(calls_, devices);
  link_groups_.clear();
  for (size_t i = 0; i < uuids.size(); ++i) link_groups_.emplace(uuids[i], groups.names[i]);
  links_are_complete_ = groups.is_complete;
  read_links_at_ = now;
  return link_groups_;
}

}  // namespace gpuscaler::nvml
