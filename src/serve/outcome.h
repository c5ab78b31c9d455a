// The result of a decision in one word, for the log and the metrics.
#pragma once

#include "absl/strings/string_view.h"
#include "scaling/decision.h"

namespace gpuscaler {

// OutcomeOf() returns the gravest one that applies.
enum class Outcome {
  kValue,              // a value without a restriction
  kLiteralMemory,      // a value that counts preallocated VRAM as load
  kUnstarted,          // a replica has not started for longer than a start may take
  kHeld,               // a value that is held while replicas start or end
  kSaturationUnknown,  // a value that distinguishes busy from idle, without the saturation
  kFrozen,             // a value in which engines with stopped counters have no requests
  kPartial,            // a value in which unreadable replicas count as at the target
  kUnavailable,        // no value: nothing in scope can be read
  kUnsupported,        // no value: this scope can never be read
  kBadMetadata,        // no value: the trigger's metadata is wrong
};
constexpr int kOutcomes = 10;
absl::string_view Name(Outcome outcome);  // "saturation_unknown"

Outcome OutcomeOf(const Decision& decision);

}  // namespace gpuscaler
