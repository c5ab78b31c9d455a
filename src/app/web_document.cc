#include "app/web_document.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "base/printable_text.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kHowToReachIt =
    "to reach a scaler in a cluster, run: kubectl -n gpu-scaler port-forward "
    "deployment/keda-gpu-scaler 8082";
constexpr absl::string_view kIsItOurs = "is --server the --web-port of a keda-gpu-scaler?";

// Counts the levels without a stack. For text that is no JSON the result is of no importance: the
// parser refuses it.
bool IsDeep(absl::string_view json) {
  constexpr int kMostLevels = 32;
  int levels = 0;
  bool is_in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') is_in_string = !is_in_string;
    if (is_in_string) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      if (++levels > kMostLevels) return true;
    } else if (c == ']' || c == '}') {
      --levels;
    }
  }
  return false;
}

// Returns a discarded value, which has no fields, for deep JSON and for other text. nlohmann parses
// and frees any depth, but copies and prints recursively. It ignores all that follows a NUL byte.
WebDocument ParseShallow(const std::string& text) {
  if (IsDeep(text) || absl::StrContains(text, '\0'))
    return WebDocument(WebDocument::value_t::discarded);
  return WebDocument::parse(text, nullptr, false);
}

absl::StatusCode CodeOfHttpStatus(int http_status) {
  switch (http_status) {
    case 400:
      return absl::StatusCode::kInvalidArgument;
    case 401:
    case 403:
      return absl::StatusCode::kUnauthenticated;
    case 404:
      return absl::StatusCode::kNotFound;
    case 410:
      return absl::StatusCode::kOutOfRange;
    default:
      return http_status >= 500 ? absl::StatusCode::kUnavailable
                                : absl::StatusCode::kFailedPrecondition;
  }
}

absl::Status ErrorOfReply(const HttpAnswer& reply) {
  std::string error = ErrorOfBody(reply.body);
  if (error.empty()) error = absl::StrCat("HTTP ", reply.status, ": ", kIsItOurs);
  if (reply.status == 401) {
    absl::StrAppend(&error, "; use --token-file, or --tls-cert and --tls-key");
  }
  return absl::Status(CodeOfHttpStatus(reply.status), error);
}

std::optional<double> NumberOfJson(const WebDocument& json) {
  if (!json.is_number()) return std::nullopt;
  return json.get<double>();
}

}  // namespace

std::string ErrorOfBody(const std::string& body) {
  constexpr size_t kLongestError = 1000;
  constexpr size_t kLongestBody = size_t{64} << 10;  // the time to parse many fields is quadratic
  if (body.size() > kLongestBody) return "";
  const WebDocument error = FieldOf(ParseShallow(body), "error");
  return error.is_string() ? PrintableText(error.get<std::string>(), kLongestError) : "";
}

absl::StatusOr<WebDocument> WebDocumentOf(const absl::StatusOr<HttpAnswer>& reply) {
  if (absl::IsUnavailable(reply.status())) {
    return absl::UnavailableError(absl::StrCat(reply.status().message(), "; ", kHowToReachIt));
  }
  if (!reply.ok()) return reply.status();
  if (reply->status != 200) return ErrorOfReply(*reply);
  WebDocument document = ParseShallow(reply->body);
  if (document.is_object()) return document;
  return absl::FailedPreconditionError(absl::StrCat("the reply is not the web API's: ", kIsItOurs));
}

const WebDocument& FieldOf(const WebDocument& document, absl::string_view name) {
  static const auto& missing = *new WebDocument();  // never freed
  const auto field = document.find(std::string(name));
  return field == document.end() ? missing : *field;
}

std::optional<double> NumberOf(const WebDocument& document, absl::string_view name) {
  return NumberOfJson(FieldOf(document, name));
}

std::optional<absl::Time> TimeOf(const WebDocument& document, absl::string_view name) {
  const std::optional<double> seconds = NumberOf(document, name);
  if (!seconds) return std::nullopt;
  return absl::UnixEpoch() + absl::Seconds(*seconds);
}

bool BoolOf(const WebDocument& document, absl::string_view name) {
  const WebDocument& field = FieldOf(document, name);
  return field.is_boolean() && field.get<bool>();
}

std::string TextOf(const WebDocument& document, absl::string_view name) {
  const WebDocument& field = FieldOf(document, name);
  return field.is_string() ? EscapedLine(field.get<std::string>()) : "";
}

std::vector<std::optional<double>> NumbersOf(const WebDocument& document, absl::string_view name) {
  std::vector<std::optional<double>> numbers;
  const WebDocument& field = FieldOf(document, name);
  if (!field.is_array()) return numbers;
  for (const WebDocument& element : field) numbers.push_back(NumberOfJson(element));
  return numbers;
}

std::string NumberOrDash(const std::optional<double>& number) {
  return number ? NumberText(*number) : "-";
}

}  // namespace gpuscaler
