#include "base/not_yet.h"

#include "absl/strings/cord.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kMark = "keda-gpu-scaler/not-yet";

}  // namespace

absl::Status NotYet(absl::string_view message) {
  absl::Status status = absl::UnavailableError(message);
  status.SetPayload(kMark, absl::Cord());
  return status;
}

bool IsNotYet(const absl::Status& status) { return status.GetPayload(kMark).has_value(); }

}  // namespace gpuscaler
