#include "serve/outcome.h"

namespace gpuscaler {

absl::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kValue:
      return "value";
    case Outcome::kLiteralMemory:
      return "literal_memory";
    case Outcome::kSaturationUnknown:
      return "saturation_unknown";
    case Outcome::kUnstarted:
      return "unstarted";
    case Outcome::kHeld:
      return "held";
    case Outcome::kFrozen:
      return "frozen";
    case Outcome::kPartial:
      return "partial";
    case Outcome::kUnavailable:
      return "unavailable";
    case Outcome::kUnsupported:
      return "unsupported";
    case Outcome::kBadMetadata:
      break;
  }
  return "bad_metadata";
}

Outcome OutcomeOf(const Decision& decision) {
  if (decision.status.code() == absl::StatusCode::kFailedPrecondition) return Outcome::kUnsupported;
  if (!decision.status.ok()) return Outcome::kUnavailable;
  if (decision.unreadable + decision.unreadable_idle > 0) return Outcome::kPartial;
  if (decision.frozen > 0) return Outcome::kFrozen;
  if (!decision.unstarted.empty()) return Outcome::kUnstarted;
  if (!decision.held_because.empty()) return Outcome::kHeld;
  if (decision.saturation_unknown) return Outcome::kSaturationUnknown;
  return decision.literal_memory ? Outcome::kLiteralMemory : Outcome::kValue;
}

}  // namespace gpuscaler
