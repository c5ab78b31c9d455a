#include "app/lint_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "app/gpu_cells.h"
#include "base/printable_text.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using Json = nlohmann::ordered_json;

std::string Word(Finding::Severity severity) { return std::string(Name(severity)); }

// Returns a path as a URI reference (RFC 3986), percent-encoded.
std::string Uri(const std::string& path) {
  static constexpr absl::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri;
  for (const char c : path) {
    if (kUnreserved.find(c) != absl::string_view::npos) {
      uri += c;
    } else {
      absl::StrAppendFormat(&uri, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

Json Rules() {
  Json rules = Json::array();
  for (const LintRule& rule : LintRules()) {
    rules.push_back({{"id", std::string(rule.id)},
                     {"shortDescription", {{"text", std::string(rule.help)}}},
                     {"defaultConfiguration", {{"level", Word(rule.severity)}}}});
  }
  return rules;
}

Json Result(const std::string& path, const Finding& finding) {
  const Json location = {{"physicalLocation",
                          {{"artifactLocation", {{"uri", Uri(path)}}},
                           {"region", {{"startLine", std::max(finding.line, 1)}}}}}};
  return {{"ruleId", finding.rule},
          {"level", Word(finding.severity)},
          {"message", {{"text", absl::StrCat(finding.object, ": ", finding.message)}}},
          {"locations", Json::array({location})}};
}

}  // namespace

std::string LintText(const std::vector<FileFindings>& files) {
  std::vector<std::string> lines;
  for (const FileFindings& file : files) {
    for (const Finding& finding : file.findings) {
      lines.push_back(absl::StrCat(file.path, ":", finding.line, ": ", Word(finding.severity), ": ",
                                   finding.object, ": ", finding.message, " [", finding.rule, "]"));
    }
  }
  return EscapedLines(lines);
}

std::string LintJson(const std::vector<FileFindings>& files) {
  Json findings = Json::array();
  for (const FileFindings& file : files) {
    for (const Finding& finding : file.findings) {
      findings.push_back({{"file", file.path},
                          {"line", finding.line},
                          {"severity", Word(finding.severity)},
                          {"rule", finding.rule},
                          {"object", finding.object},
                          {"message", finding.message}});
    }
  }
  return JsonText({{"findings", findings}}, false);
}

std::string LintSarif(const std::vector<FileFindings>& files) {
  Json results = Json::array();
  for (const FileFindings& file : files) {
    for (const Finding& finding : file.findings) results.push_back(Result(file.path, finding));
  }
  const Json driver = {
      {"name", "keda-gpu-scaler"}, {"version", GPUSCALER_VERSION}, {"rules", Rules()}};
  const Json run = {{"tool", {{"driver", driver}}}, {"results", results}};
  return JsonText({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                   {"version", "2.1.0"},
                   {"runs", Json::array({run})}},
                  false);
}

}  // namespace gpuscaler
