// Parses the address of a source, as written in a trigger's metadata.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/signal_source.h"
#include "page/endpoint_rules.h"
#include "page/http_endpoint.h"

namespace gpuscaler {

// Returns the endpoint of engines, a metrics endpoint or Redis; for Redis only host, port and TLS.
// INVALID_ARGUMENT names the fault and the allowed values.
absl::StatusOr<HttpEndpoint> EndpointOf(const SignalSource& source);

// Returns the port that the trigger gives; otherwise the engine's default port, or the scheme's.
int PortOf(const SignalSource& source, const HttpEndpoint& endpoint);

// Checks a source without any I/O. INVALID_ARGUMENT and PERMISSION_DENIED name the metadata key:
// `endpoint_key` if the endpoint is the cause, `selector_key` if it is the selector.
absl::Status CheckSource(const SignalSource& source, const EndpointRules& rules,
                         absl::string_view endpoint_key, absl::string_view selector_key);

}  // namespace gpuscaler
