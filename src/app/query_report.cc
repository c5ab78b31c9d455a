#include "app/query_report.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "app/gpu_cells.h"
#include "base/number_text.h"
#include "base/printable_text.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "scaling/hpa.h"

namespace gpuscaler {
namespace {

using Json = nlohmann::ordered_json;

std::string ErrorText(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
}

Json ErrorJson(const absl::Status& status) {
  return {{"error",
           {{"code", absl::StatusCodeToString(status.code())},
            {"message", std::string(status.message())}}}};
}

std::string HpaText(const QueryReport& report) {
  const std::optional<int> desired = DesiredReplicas(report);
  if (!desired) return absl::StrCat("stays at ", *report.replicas, ": nothing is known");
  if (*desired == *report.replicas) return absl::StrCat("stays at ", *desired);
  return absl::StrCat("from ", *report.replicas, " to ", *desired);
}

Json ExplanationJson(const absl::StatusOr<gpuscaler::v1::Explanation>& explanation) {
  if (!explanation.ok()) return ErrorJson(explanation.status());
  std::string text;
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(*explanation, &text, options).ok())
    return nullptr;
  return Json::parse(text, nullptr, false);
}

Json ReportJson(const QueryReport& report) {
  Json json = {{"trigger", report.trigger.title}};
  json["spec"] = report.spec.ok()
                     ? Json({{"metric_name", report.spec->metric_name},
                             {"target", report.spec->target},
                             {"target_type", std::string(Name(report.trigger.target_type))}})
                     : ErrorJson(report.spec.status());
  json["value"] = report.value.ok() ? Json(*report.value) : ErrorJson(report.value.status());
  json["active"] = report.active.ok() ? Json(*report.active) : ErrorJson(report.active.status());
  if (report.replicas && !report.trigger.is_job) {
    const std::optional<int> desired = DesiredReplicas(report);
    json["replicas"] = *report.replicas;
    json["desired_replicas"] = desired ? Json(*desired) : Json(nullptr);
  }
  if (!report.trigger.left_out.empty()) json["left_out"] = report.trigger.left_out;
  if (report.explanation) json["explanation"] = ExplanationJson(*report.explanation);
  return json;
}

}  // namespace

bool IsConsistent(const QueryReport& report) {
  if (!report.explanation || !report.explanation->ok()) return true;
  const gpuscaler::v1::Explanation& why = **report.explanation;
  const int code = report.value.status().raw_code();
  if (why.code() != code || report.active.status().raw_code() != code) return false;
  return code != 0 || (why.value() == *report.value && why.active() == *report.active);
}

std::optional<int> DesiredReplicas(const QueryReport& report) {
  if (!report.replicas || report.trigger.is_job) return std::nullopt;
  const int most = report.trigger.max_replicas.value_or(std::numeric_limits<int>::max());
  if (*report.replicas == 0) {
    if (!report.active.ok()) return std::nullopt;
    return *report.active ? std::clamp(report.trigger.min_replicas, 1, std::max(most, 1)) : 0;
  }
  if (!report.spec.ok() || !report.value.ok() || !report.active.ok()) return std::nullopt;
  HpaOptions options;
  options.target_type = report.trigger.target_type;
  options.target = report.spec->target;
  const int proposed = ProposeReplicas(options, *report.replicas, *report.replicas, *report.value);
  return std::clamp(proposed, std::max(report.trigger.min_replicas, 1),
                    std::max({most, report.trigger.min_replicas, 1}));
}

std::string QueryText(const QueryReport& report) {
  std::vector<std::string> lines = {report.trigger.title};
  lines.push_back(absl::StrCat(
      "  metric  ", report.spec.ok() ? absl::StrCat(report.spec->metric_name, ", target ",
                                                    NumberText(report.spec->target), " (",
                                                    Name(report.trigger.target_type), ")")
                                     : ErrorText(report.spec.status())));
  lines.push_back(absl::StrCat("  value   ", report.value.ok() ? NumberText(*report.value)
                                                               : ErrorText(report.value.status())));
  lines.push_back(absl::StrCat("  active  ", report.active.ok()
                                                 ? (*report.active ? "yes" : "no")
                                                 : ErrorText(report.active.status())));
  if (report.trigger.is_job) {
    lines.emplace_back("  jobs    KEDA starts Jobs; a ScaledJob has no HPA");
  } else if (report.replicas) {
    lines.push_back(absl::StrCat("  hpa     ", HpaText(report)));
  }
  if (!report.trigger.left_out.empty()) {
    lines.push_back(absl::StrCat("  without ", absl::StrJoin(report.trigger.left_out, ", "),
                                 ": only KEDA can resolve it"));
  }
  if (report.explanation && !report.explanation->ok()) {
    lines.insert(lines.end(), {"", ErrorText(report.explanation->status())});
  } else if (report.explanation) {
    lines.emplace_back();
    for (std::string& line : LinesWithoutBlankEnd((*report.explanation)->text())) {
      lines.push_back(std::move(line));
    }
  }
  return EscapedLines(lines);
}

std::string QueryJson(const std::vector<QueryReport>& reports) {
  Json json = Json::array();
  for (const QueryReport& report : reports) json.push_back(ReportJson(report));
  return JsonText(json, false);
}

}  // namespace gpuscaler
