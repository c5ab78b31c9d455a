// The web port: the page, the API and its events.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "model/fleet_reader.h"
#include "model/staleness_limits.h"
#include "web/web_api.h"
#include "web/web_page.h"
#include "web/web_server.h"

namespace gpuscaler {

// Thread-safe.
class WebPort {
 public:
  // `page` is gzip, and may be empty. References, and the sources, must outlive the port. Returns
  // the errors of WebServer::Start().
  static absl::StatusOr<std::unique_ptr<WebPort>> Open(
      WebServerOptions options, WebInstance instance, const Clock& clock, const FleetReader& fleets,
      const StalenessLimits& staleness, WebSources sources, absl::string_view page = BuiltInPage());

  int port() const { return server_->port(); }
  int64_t refused_replies() const { return server_->refused_replies(); }
  absl::Status ReloadTls() { return server_->ReloadTls(); }
  absl::Status ReloadToken() { return server_->ReloadToken(); }
  bool HasToken() const { return server_->HasToken(); }

 private:
  WebPort(WebInstance instance, const Clock& clock, const FleetReader& fleets,
          const StalenessLimits& staleness, WebSources sources, absl::string_view page);
  WebReply Reply(const WebRequest& request);

  const WebPage page_;
  WebApi api_;
  std::unique_ptr<WebServer> server_;
};

}  // namespace gpuscaler
