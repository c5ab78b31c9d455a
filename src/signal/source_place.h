// Where a source is, as its trigger says, taken apart.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "endpoint/endpoint_rules.h"
#include "model/signal_source.h"
#include "page/http_endpoint.h"

namespace gpuscaler {

// Of engines, a page or Redis; of Redis host, port and TLS alone. INVALID_ARGUMENT says what is
// wrong and what is allowed.
absl::StatusOr<HttpEndpoint> EndpointOf(const SignalSource& source);

// Where it listens unless its trigger says so: an engine on its own usual port, or as its scheme
// has it.
int PortOf(const SignalSource& source, const HttpEndpoint& endpoint);

// What can be told of a source without asking anybody: INVALID_ARGUMENT and PERMISSION_DENIED name
// the metadata key, of a page `page_key`.
absl::Status CheckSource(const SignalSource& source, const EndpointRules& rules,
                         absl::string_view page_key = "prometheusEndpoint");

}  // namespace gpuscaler
