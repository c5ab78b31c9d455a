// The flag with which a container gives its inference engine a batch limit.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "trigger/related_objects.h"

namespace gpuscaler {

struct BatchLimitFlag {
  absl::string_view name;  // "--max-num-seqs"
  int value = 0;           // requests that the engine runs at once
};

// Returns the flag of the first container that has one. Returns nullopt if no image is of an engine
// with such a flag, or if the flag is missing or not a whole number (a variable, a placeholder).
// Engines with several data-parallel ranks are skipped: the limit is for one rank in some engines
// and for all in others.
std::optional<BatchLimitFlag> BatchLimitFlagIn(const ManifestWorkload& workload);

}  // namespace gpuscaler
