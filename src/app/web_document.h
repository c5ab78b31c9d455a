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
#include "page/http_client.h"

namespace gpuscaler {

using WebDocument = nlohmann::ordered_json;

// Returns the document of a reply of the web API, or an error:
//   UNAVAILABLE          no reply: the message describes how to reach the port; or HTTP 5xx
//   UNAUTHENTICATED      HTTP 401 and 403
//   NOT_FOUND            HTTP 404
//   OUT_OF_RANGE         HTTP 410: no longer kept
//   INVALID_ARGUMENT     HTTP 400
//   FAILED_PRECONDITION  no JSON object, or one of more than 32 levels, which none of the API has
// Deeper JSON would overflow the stack when it is copied or printed.
absl::StatusOr<WebDocument> WebDocumentOf(const absl::StatusOr<HttpAnswer>& reply);

// Returns the server's description of an error in a body {"error": "..."}, on one line, or "".
// Prometheus sends them as well.
std::string ErrorOfBody(const std::string& body);

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
