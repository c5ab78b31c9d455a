#include "trigger/trigger_words.h"

namespace gpuscaler {
namespace {

template <typename Enum>
absl::string_view WordOf(Enum value) {
  return kEnumWords<Enum>[static_cast<size_t>(value)].word;
}

}  // namespace

absl::string_view Name(TargetType type) { return WordOf(type); }
absl::string_view Name(Scope scope) { return WordOf(scope); }
absl::string_view Name(Aggregation aggregation) { return WordOf(aggregation); }
absl::string_view Name(ReplicaAggregation aggregation) { return WordOf(aggregation); }
absl::string_view Name(WindowAggregation aggregation) { return WordOf(aggregation); }
absl::string_view Name(DemandUse use) { return WordOf(use); }
absl::string_view Name(EngineFallback fallback) { return WordOf(fallback); }
absl::string_view Name(ScaleIn scale_in) { return WordOf(scale_in); }

}  // namespace gpuscaler
