// The path of keda-gpu-scaler, for the commands that the demo prints.
#pragma once

#include <filesystem>
#include <string>

namespace gpuscaler {

// Returns the keda-gpu-scaler of the build folder of this program (ScalerPathOf()).
std::string ScalerPath();

// Returns the keda-gpu-scaler of the build folder of `lab`, the lab's program: relative if it is
// below `current`, else as `lab` is given. Returns the name alone if the folder has none.
std::string ScalerPathOf(const std::filesystem::path& lab, const std::filesystem::path& current);

}  // namespace gpuscaler
