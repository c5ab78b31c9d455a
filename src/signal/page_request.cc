#include "signal/page_request.h"

#include "absl/strings/str_cat.h"
#include "signal/http_endpoint.h"

namespace gpuscaler {

std::string PageRequest::Place() const {
  const std::string figures = IpAddressText(address);
  const std::string place = HostAndPort(host, port);
  return host == figures ? place : absl::StrCat(place, " (", figures, ")");
}

}  // namespace gpuscaler
