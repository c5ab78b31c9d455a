#include "app/neighbours.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"

namespace gpuscaler {

absl::StatusOr<std::vector<std::string>> AddressesOfOneFamily(const std::string& host) {
  const addrinfo hints = {.ai_socktype = SOCK_STREAM};  // else each address comes three times
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return absl::UnavailableError(absl::StrCat(host, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::set<std::string> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text;
    if (each->ai_family == found->ai_family &&
        getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      addresses.insert(text.data());
    }
  }
  return std::vector<std::string>(addresses.begin(), addresses.end());
}

Neighbours::Neighbours(std::string host, Resolve resolve)
    : host_(std::move(host)), resolve_(std::move(resolve)) {}

void Neighbours::Tick() {
  const auto addresses = resolve_(host_);
  const bool had_failed = std::exchange(failed_, !addresses.ok());
  if (failed_) {
    if (had_failed && !told_failed_) {
      LogWarn("service_unresolved",
              {{"service", host_}, {"why", std::string(addresses.status().message())}});
      told_failed_ = true;
    }
    return;
  }
  if (std::exchange(told_failed_, false)) LogInfo("service_resolved", {{"service", host_}});
  const bool were_several = std::exchange(several_, addresses->size() > 1);
  if (several_ && were_several && !warned_) {
    LogWarn("several_scalers", {{"service", host_},
                                {"addresses", absl::StrJoin(*addresses, ",")},
                                {"why", "each answers for its own node: run it on one"}});
    warned_ = true;
  }
  if (!several_ && warned_) {
    LogInfo("one_scaler", {{"service", host_}});
    warned_ = false;
  }
}

}  // namespace gpuscaler
