#include "web/web_port.h"

#include <string>
#include <utility>

#include "base/status_macros.h"

namespace gpuscaler {

WebPort::WebPort(WebInstance instance, const Clock& clock, const FleetReader& fleets,
                 const StalenessLimits& staleness, WebSources sources, absl::string_view page)
    : page_(WebPageOf(page)),
      api_(std::move(instance), clock, fleets, staleness, std::move(sources)) {}

absl::StatusOr<std::unique_ptr<WebPort>> WebPort::Open(WebServerOptions options,
                                                       WebInstance instance, const Clock& clock,
                                                       const FleetReader& fleets,
                                                       const StalenessLimits& staleness,
                                                       WebSources sources, absl::string_view page) {
  std::unique_ptr<WebPort> port(
      new WebPort(std::move(instance), clock, fleets, staleness, std::move(sources), page));
  options.content_security_policy = port->page_.content_security_policy;
  ASSIGN_OR_RETURN(
      port->server_,
      WebServer::Start(
          options, [self = port.get()](const WebRequest& request) { return self->Reply(request); },
          [self = port.get()](int64_t since) { return self->api_.NextEvents(since); }));
  return port;
}

WebReply WebPort::Reply(const WebRequest& request) {
  if (request.path != "/" && request.path != "/index.html") return api_.Reply(request);
  if (page_.html != nullptr) {
    return {.content_type = "text/html; charset=utf-8", .body = page_.html, .gzip = page_.gzip};
  }
  return {.status = 404,
          .content_type = "text/plain; charset=utf-8",
          .body = std::make_shared<const std::string>(
              "This build has no web page, because npm was missing. The API is below /api/v1/, "
              "as in /api/v1/status.\n")};
}

}  // namespace gpuscaler
