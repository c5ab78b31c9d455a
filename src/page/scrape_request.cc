#include "page/scrape_request.h"

#include "absl/strings/str_cat.h"
#include "page/http_endpoint.h"

namespace gpuscaler {

std::string ScrapeRequest::Place() const {
  const std::string figures = IpAddressText(address);
  const std::string place = absl::StrCat(HostAndPort(host, port), path.substr(0, path.find('?')));
  return host == figures ? place : absl::StrCat(place, " (", figures, ")");
}

}  // namespace gpuscaler
