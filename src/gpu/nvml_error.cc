#include "gpu/nvml_error.h"

#include "absl/strings/str_cat.h"

namespace gpuscaler::nvml {
namespace {

struct ErrorName {
  Return error;
  const char* name;
};
// NVML_ERROR_* of nvml.h 13. Missing numbers belong to calls that only change settings.
constexpr ErrorName kNames[] = {
    {kUninitialized, "UNINITIALIZED"},
    {kInvalidArgument, "INVALID_ARGUMENT"},
    {kNotSupported, "NOT_SUPPORTED"},
    {kNoPermission, "NO_PERMISSION"},
    {kNotFound, "NOT_FOUND"},
    {kInsufficientSize, "INSUFFICIENT_SIZE"},
    {8, "INSUFFICIENT_POWER"},
    {kDriverNotLoaded, "DRIVER_NOT_LOADED"},
    {10, "TIMEOUT"},
    {11, "IRQ_ISSUE"},
    {12, "LIBRARY_NOT_FOUND"},
    {kFunctionNotFound, "FUNCTION_NOT_FOUND"},
    {14, "CORRUPTED_INFOROM"},
    {kGpuIsLost, "GPU_IS_LOST"},
    {kResetRequired, "RESET_REQUIRED"},
    {17, "OPERATING_SYSTEM"},
    {kLibRmVersionMismatch, "LIB_RM_VERSION_MISMATCH"},
    {19, "IN_USE"},
    {20, "MEMORY"},
    {kNoData, "NO_DATA"},
    {23, "INSUFFICIENT_RESOURCES"},
    {25, "ARGUMENT_VERSION_MISMATCH"},
    {26, "DEPRECATED"},
    {27, "NOT_READY"},
    {28, "GPU_NOT_FOUND"},
    {29, "INVALID_STATE"},
    {kUnknown, "UNKNOWN"},
};

}  // namespace

std::string ErrorText(Return error) {
  for (const ErrorName& row : kNames) {
    if (row.error == error) return absl::StrCat("NVML error ", error, " (", row.name, ")");
  }
  return absl::StrCat("NVML error ", error);
}

bool IsUnsupported(Return error) { return error == kNotSupported || error == kFunctionNotFound; }

bool IsReload(Return error) { return error == kUninitialized || error == kLibRmVersionMismatch; }

bool IsLoss(Return error) {
  return IsReload(error) || error == kGpuIsLost || error == kResetRequired || error == kUnknown;
}

}  // namespace gpuscaler::nvml
