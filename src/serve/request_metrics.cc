#include "serve/request_metrics.h"

namespace gpuscaler {

absl::string_view Name(Rpc rpc) {
  switch (rpc) {
    case Rpc::kIsActive:
      return "IsActive";
    case Rpc::kStreamIsActive:
      return "StreamIsActive";
    case Rpc::kGetMetricSpec:
      return "GetMetricSpec";
    case Rpc::kGetMetrics:
      return "GetMetrics";
    case Rpc::kStreamMetricSpec:
      return "StreamMetricSpec";
    case Rpc::kExplain:
      break;
  }
  return "Explain";
}

}  // namespace gpuscaler
