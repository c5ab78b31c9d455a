#include "page/scrape_request.h"

#include "absl/strings/str_cat.h"
#include "page/http_endpoint.h"

namespace gpuscaler {

std::string ScrapeRequest::Place() const {
  const std::string ip = IpAddressText(address);
  const std::string url = absl::StrCat(HostAndPort(host, port), path.substr(0, path.find('?')));
  return host == ip ? url : absl::StrCat(url, " (", ip, ")");
}

}  // namespace gpuscaler
