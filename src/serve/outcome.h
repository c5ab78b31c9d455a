// What a trigger is answered with, in one word: for the log when it changes, and for the metrics
// page.
#pragma once

#include "absl/strings/string_view.h"
#include "scaling/decision.h"

namespace gpuscaler {

// The gravest that holds, gravest last.
enum class Outcome {
  kValue,              // a value, and nothing to say against it
  kLiteralMemory,      // a value that counts preallocated VRAM as load
  kUnstarted,          // a replica did not start for longer than any start may take
  kHeld,               // a value that is held while replicas start or end
  kSaturationUnknown,  // a value that knows busy from idle, not how full
  kFrozen,             // a value in which requests of engines that stopped counting are none
  kPartial,            // a value in which unreadable replicas stand for the target
  kUnavailable,        // none: nothing in scope can be read
  kUnsupported,        // none: this scope never can be
  kBadMetadata,        // none: the trigger itself is wrong
};
constexpr int kOutcomes = 10;
absl::string_view Name(Outcome outcome);  // "saturation_unknown"

Outcome OutcomeOf(const Decision& decision);

}  // namespace gpuscaler
