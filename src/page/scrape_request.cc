#include "page/scrape_request.h"

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "page/http_endpoint.h"

namespace gpuscaler {

std::string ScrapeRequest::Place() const {
  const std::string ip = IpAddressText(server.address);
  const std::string url =
      absl::StrCat(HostAndPort(server.host, server.port), path.substr(0, path.find('?')));
  return server.host == ip ? url : absl::StrCat(url, " (", ip, ")");
}

absl::Status ScrapeRequest::AtPlace(const absl::Status& fault) const {
  return {fault.code(), absl::StrCat(Place(), ": ", PrintableText(fault.message()))};
}

}  // namespace gpuscaler
