#include "base/resolve.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/name_absence.h"

namespace gpuscaler {
namespace {

// Empty: not an address of the Internet.
std::string AddressText(const addrinfo& address) {
  std::array<char, NI_MAXHOST> text;
  const int error = getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(),
                                nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text.data() : "";
}

absl::Status Unknown(const std::string& host, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(host, ": ", why));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> AddressesOf(const std::string& host) {
  const addrinfo hints = {.ai_socktype = SOCK_STREAM};  // else each address comes three times
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error == EAI_NONAME || error == EAI_NODATA) {
    const absl::Status none = CheckHasNoAddress(host);
    if (none.ok()) return std::vector<std::string>();
    return Unknown(host, none.message());
  }
  if (error != 0) return Unknown(host, error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::set<std::string> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    addresses.insert(AddressText(*each));
  }
  addresses.erase("");
  return std::vector<std::string>(addresses.begin(), addresses.end());
}

}  // namespace gpuscaler
