// The parameters of a request, checked.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "web/web_reply.h"

namespace gpuscaler {

// All return INVALID_ARGUMENT with the parameter and what is allowed, and nothing if the request
// does not have the parameter.
absl::StatusOr<std::optional<double>> NumberParameter(const WebRequest& request,
                                                      absl::string_view name, double least,
                                                      double most);
absl::StatusOr<std::optional<int>> CountParameter(const WebRequest& request, absl::string_view name,
                                                  int least, int most);
// The unit is seconds since 1970.
absl::StatusOr<std::optional<absl::Time>> TimeParameter(const WebRequest& request,
                                                        absl::string_view name);

struct TimeRange {
  absl::Time from;
  absl::Time to;
};

// Returns `from` and `to` of the request; by default the last hour up to `now`. A later `to` is
// `now`. Returns INVALID_ARGUMENT if `from` is not before `to`.
absl::StatusOr<TimeRange> TimeRangeOf(const WebRequest& request, absl::Time now);

}  // namespace gpuscaler
