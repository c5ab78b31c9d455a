#include "app/web_document.h"

#include "base/number_text.h"
#include "base/printable_text.h"

namespace gpuscaler {
namespace {

std::optional<double> NumberOfJson(const WebDocument& json) {
  if (!json.is_number()) return std::nullopt;
  return json.get<double>();
}

}  // namespace

absl::StatusOr<WebDocument> ParseWebDocument(const std::string& text) {
  WebDocument document = WebDocument::parse(text, nullptr, false);
  if (document.is_object()) return document;
  return absl::FailedPreconditionError(
      "the reply is not the web API's: is --server the --web-port of a keda-gpu-scaler?");
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
