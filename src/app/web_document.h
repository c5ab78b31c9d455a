// The fields of the web API's documents (docs/api.yaml). The server may be of another version, so a
// field of an unexpected type counts as missing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {

using WebDocument = nlohmann::ordered_json;

// Returns FAILED_PRECONDITION unless the text is a JSON object.
absl::StatusOr<WebDocument> ParseWebDocument(const std::string& text);

// Returns null if `document` is no object or has no such field.
const WebDocument& FieldOf(const WebDocument& document, absl::string_view name);

std::optional<double> NumberOf(const WebDocument& document, absl::string_view name);
std::optional<absl::Time> TimeOf(const WebDocument& document, absl::string_view name);
bool BoolOf(const WebDocument& document, absl::string_view name);

// Returns printable text without line breaks (EscapedLine), or "".
std::string TextOf(const WebDocument& document, absl::string_view name);

// An element that is no number is nullopt.
std::vector<std::optional<double>> NumbersOf(const WebDocument& document, absl::string_view name);

// Returns "12.5", or "-" if it is unknown.
std::string NumberOrDash(const std::optional<double>& number);

}  // namespace gpuscaler
