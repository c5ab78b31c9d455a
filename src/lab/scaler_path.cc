#include "lab/scaler_path.h"

#include <system_error>

namespace gpuscaler {

namespace fs = std::filesystem;

std::string ScalerPath() {
  std::error_code ignored;
  return ScalerPathOf(fs::read_symlink("/proc/self/exe", ignored), fs::current_path(ignored));
}

std::string ScalerPathOf(const fs::path& lab, const fs::path& current) {
  constexpr char kName[] = "keda-gpu-scaler";
  const fs::path scaler = lab.parent_path().parent_path() / "app" / kName;
  std::error_code ignored;
  if (!fs::is_regular_file(scaler, ignored)) return kName;
  const fs::path relative = scaler.lexically_relative(current);
  const bool is_below = relative.has_parent_path() && *relative.begin() != "..";
  return is_below ? relative.string() : scaler.string();
}

}  // namespace gpuscaler
