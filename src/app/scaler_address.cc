#include "app/scaler_address.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/config.h"

namespace gpuscaler {
namespace {

absl::Status Fault(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\": use HOST or HOST:PORT, with a port from 1 to 65535, such as ",
                   "localhost:6000"));
}

bool IsPort(absl::string_view text) {
  int port = 0;
  return std::ranges::all_of(text, absl::ascii_isdigit) && absl::SimpleAtoi(text, &port) &&
         port >= 1 && port <= 65535;
}

}  // namespace

absl::StatusOr<std::string> ScalerAddress(absl::string_view text) {
  if (absl::StartsWith(text, "unix:")) return std::string(text);
  text = absl::StripPrefix(text, "dns:///");
  if (text.empty() || text.find_first_of("/ ") != absl::string_view::npos) return Fault(text);
  // An address with more than one colon and no brackets is IPv6.
  const bool ipv6 = text[0] != '[' && std::ranges::count(text, ':') > 1;
  const std::string address = ipv6 ? absl::StrCat("[", text, "]") : std::string(text);
  const size_t bracket = address.rfind(']');
  const size_t colon = address.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon == std::string::npos) return absl::StrCat(address, ":", Config().port);
  if (colon == 0 || !IsPort(absl::string_view(address).substr(colon + 1))) return Fault(text);
  return address;
}

}  // namespace gpuscaler
