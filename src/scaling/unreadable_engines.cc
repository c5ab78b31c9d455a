#include "scaling/unreadable_engines.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"

namespace gpuscaler {
namespace {

bool HasNoValue(const Replica& replica) {
  return replica.present && replica.by_engine && !replica.samples.back().metric.has_value();
}

bool AppliesTo(const MissingEngine& missing, const Replica& replica) {
  if (missing.pod.empty()) {
    return std::ranges::find(replica.nodes, missing.node) != replica.nodes.end();
  }
  return std::ranges::any_of(replica.pods, [&missing](const Pod* pod) {
    return pod->name == missing.pod && pod->namespace_name == missing.namespace_name;
  });
}

}  // namespace

std::string NoAddressText(const EngineEndpoint& endpoint) {
  return absl::StrCat(endpoint.url,
                      " has no address: no pod is Ready behind it, or the name is another");
}

std::string NoneFoundText(const SignalHistory& signals) {
  constexpr char kNone[] = "no engine is found";
  if (signals.missing_engines == nullptr || signals.missing_engines->empty()) return kNone;
  const MissingEngine& one = signals.missing_engines->front();
  const std::string where =
      one.pod.empty() ? absl::StrCat("node ", one.node) : absl::StrCat("pod ", one.pod);
  return absl::StrCat(kNone, " (", where, ": ", one.why, ")");
}

bool IsLookedForIn(const Replica& replica, const SignalHistory& signals) {
  return signals.missing_engines == nullptr ||
         std::ranges::none_of(*signals.missing_engines, [&](const MissingEngine& each) {
           return each.pod.empty() && AppliesTo(each, replica);
         });
}

std::string WhyNotFoundIn(const Replica& replica, const SignalHistory& signals) {
  if (signals.missing_engines == nullptr) return "";
  const auto found = std::ranges::find_if(*signals.missing_engines, [&](const MissingEngine& each) {
    return AppliesTo(each, replica);
  });
  return found == signals.missing_engines->end() ? "" : found->why;
}

std::string UnreadableEnginesText(const std::vector<Replica>& replicas) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> named;
  size_t unreadable = 0;
  for (const Replica& replica : replicas) {
    if (!HasNoValue(replica) || ++unreadable > kNamed) continue;
    named.push_back(absl::StrCat(replica.name, replica.last_error.empty() ? "" : " (",
                                 replica.last_error, replica.last_error.empty() ? "" : ")"));
  }
  if (unreadable == 0) return "";
  return absl::StrCat(
      "no number from the engines of ", CountText(static_cast<int64_t>(unreadable), "replica"),
      ": ", absl::StrJoin(named, ", "),
      unreadable > kNamed ? absl::StrCat(" and ", unreadable - kNamed, " more") : "");
}

}  // namespace gpuscaler
