#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "base/printable_text.h"
#include "scaling/decision.h"
#include "scaling/node_view.h"

namespace gpuscaler {
namespace {

// Returns the nodes of a pod. The name of a GPU begins with its node's.
std::string PlaceText(const Contribution& contribution) {
  if (contribution.nodes.empty() ||
      absl::StartsWith(contribution.name, contribution.nodes.front() + "/"))
    return "";
  return absl::StrCat("  on ", absl::StrJoin(contribution.nodes, ", "));
}

std::string NumberWithUnit(double number, absl::string_view unit) {
  return absl::StrCat(NumberText(number), unit.empty() ? "" : " ", unit);
}

std::string ContributionLine(const Contribution& contribution, absl::string_view unit) {
  const std::string load =
      contribution.load ? NumberWithUnit(*contribution.load, unit) : std::string("-");
  return absl::StrFormat("  %-24s %-10s %12s%s%s%s%s", contribution.name,
                         std::string(Name(contribution.state)), load,
                         contribution.busy ? "  busy" : "", PlaceText(contribution),
                         contribution.because.empty() ? "" : "  ", contribution.because);
}

std::string CountsLine(const Decision& decision) {
  if (decision.by_queue) return absl::StrCat("replicas: none (", decision.replicas_from, ")");
  std::string line = absl::StrCat("replicas: ", decision.replicas, " (", decision.replicas_from);
  if (decision.unreadable > 0) absl::StrAppend(&line, "; ", decision.unreadable, " unreadable");
  if (decision.starting > 0)
    absl::StrAppend(&line, "; ", decision.starting, " starting beside them");
  if (decision.terminating > 0) {
    absl::StrAppend(&line, "; ", decision.terminating, " terminating beside them");
  }
  return line + ")";
}

std::string NodesLine(const Decision& decision) {
  constexpr size_t kNamed = 8;
  std::vector<std::string> nodes;
  for (const DecidedNode& node : decision.nodes) {
    if (nodes.size() == kNamed) break;
    const std::string age =
        node.age < absl::Milliseconds(1) ? "now" : absl::StrCat(AgeText(node.age), " ago");
    nodes.push_back(absl::StrCat(node.name, " (", CountText(node.replicas, "replica"), ", read ",
                                 age, node.why.empty() ? "" : ": ", node.why, ")"));
  }
  return absl::StrCat("nodes: ", ListText(nodes, kNamed, decision.nodes.size() - nodes.size()));
}

// Such a profile counts the load of its replicas, not their VRAM.
std::string ScaleText(const Trigger& trigger) {
  return EvaluatesPreallocatedMemory(trigger) ? absl::StrCat("by profile ", trigger.profile)
                                              : absl::StrCat("of ", InfoOf(trigger.metric).name);
}

}  // namespace

std::string Explain(const Trigger& trigger, const Decision& decision) {
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  std::vector<std::string> lines;
  if (decision.status.ok()) {
    lines.push_back(absl::StrCat("value: ", NumberWithUnit(decision.value, metric.unit), " ",
                                 ScaleText(trigger), ", target ", NumberText(trigger.target), " (",
                                 Name(trigger.target_type), ")"));
    lines.push_back(
        absl::StrCat("active: ", decision.active ? "yes" : "no", ", ", decision.active_because));
  } else {
    lines.push_back(absl::StrCat("no value: ", decision.status.ToString()));
  }
  if (!decision.replicas_from.empty()) lines.push_back(CountsLine(decision));
  if (!decision.nodes.empty()) lines.push_back(NodesLine(decision));
  for (const Contribution& contribution : decision.contributions) {
    lines.push_back(ContributionLine(contribution, metric.unit));
  }
  for (const std::string& note : decision.notes) lines.push_back(absl::StrCat("note: ", note));
  return EscapedLines(lines);
}

}  // namespace gpuscaler
