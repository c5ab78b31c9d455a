#include "serve/outcome.h"

#include <array>

namespace gpuscaler {

absl::string_view Name(Outcome outcome) {
  static constexpr std::array<absl::string_view, kOutcomes> kNames = {
      "value",  "literal_memory", "unstarted",   "held",        "saturation_unknown",
      "frozen", "partial",        "unavailable", "unsupported", "bad_metadata"};
  return kNames[static_cast<size_t>(outcome)];
}

Outcome OutcomeOf(const Decision& decision) {
  if (decision.status.code() == absl::StatusCode::kFailedPrecondition) return Outcome::kUnsupported;
  if (!decision.status.ok()) return Outcome::kUnavailable;
  if (decision.unreadable + decision.unreadable_unused > 0) return Outcome::kPartial;
  if (decision.frozen > 0) return Outcome::kFrozen;
  if (!decision.unstarted.empty()) return Outcome::kUnstarted;
  if (!decision.held_because.empty()) return Outcome::kHeld;
  if (decision.saturation_unknown) return Outcome::kSaturationUnknown;
  return decision.literal_memory ? Outcome::kLiteralMemory : Outcome::kValue;
}

}  // namespace gpuscaler
