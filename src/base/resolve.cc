#include "base/resolve.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/name_absence.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// Empty: the address is neither IPv4 nor IPv6.
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

absl::StatusOr<ResolvedName> ResolveName(const std::string& host) {
  // Without a socket type getaddrinfo() returns each address three times.
  const addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error == EAI_NONAME || error == EAI_NODATA) {
    absl::StatusOr<std::string> none = NameWithoutAddress(host);
    if (none.ok()) return ResolvedName{.canonical_name = *std::move(none)};
    return Unknown(host, none.status().message());
  }
  if (error != 0) return Unknown(host, error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::set<std::string> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    addresses.insert(AddressText(*each));
  }
  addresses.erase("");
  return ResolvedName{.addresses = {addresses.begin(), addresses.end()},
                      .canonical_name = found == nullptr || found->ai_canonname == nullptr
                                            ? host
                                            : found->ai_canonname};
}

absl::StatusOr<std::vector<std::string>> AddressesOf(const std::string& host) {
  ASSIGN_OR_RETURN(ResolvedName resolved, ResolveName(host));
  return std::move(resolved.addresses);
}

}  // namespace gpuscaler
