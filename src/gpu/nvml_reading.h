// A device's sample while it is being read. Separates failures from readings that the device lacks.
#pragma once

#include <string>

#include "gpu/nvml_api.h"
#include "gpu/nvml_error.h"
#include "model/gpu_sample.h"

namespace gpuscaler::nvml {

// Keeps in `worst` the error that explains the others.
inline void NoteLoss(Return error, Return& worst) {
  if (IsLoss(error) && !IsReload(worst)) worst = error;
}

// Not thread-safe.
struct Reading {
  GpuSample sample;
  bool answered = false;   // some call succeeded
  Return loss = kSuccess;  // the worst IsLoss error of any call

  // Returns true if the call succeeded and `field` can be filled. Otherwise the field stays empty:
  // with a gap that names the error, or without one if the device lacks it.
  bool Succeeded(GpuField field, Return result) {
    if (result == kSuccess) {
      answered = true;
      return true;
    }
    NoteLoss(result, loss);
    if (!IsUnsupported(result)) AddGap(field, ErrorText(result));
    return false;
  }

  void AddGap(GpuField field, std::string detail) {
    sample.gaps.push_back({field, GpuGap::Reason::kFailed, std::move(detail)});
  }
  void AddNotWanted(GpuField field, std::string detail = "") {
    sample.gaps.push_back({field, GpuGap::Reason::kNotRequested, std::move(detail)});
  }
};

}  // namespace gpuscaler::nvml
