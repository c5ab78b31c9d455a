#include "role/duplicate_scaler_check.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"

namespace gpuscaler {

namespace {

std::vector<std::string> OfOneFamily(const std::vector<std::string>& addresses) {
  std::vector<std::string> v4;
  std::vector<std::string> v6;
  for (const std::string& address : addresses) {
    (absl::StrContains(address, ':') ? v6 : v4).push_back(address);
  }
  return v6.size() > v4.size() ? v6 : v4;
}

}  // namespace

DuplicateScalerCheck::DuplicateScalerCheck(std::string host, Resolve resolve)
    : host_(std::move(host)), resolve_(std::move(resolve)) {}

void DuplicateScalerCheck::Tick() {
  absl::StatusOr<std::vector<std::string>> addresses = resolve_(host_);
  if (addresses.ok() && addresses->empty()) {
    addresses = absl::UnavailableError(absl::StrCat(host_, ": the name has no address"));
  }
  const bool had_failed = std::exchange(failed_, !addresses.ok());
  if (failed_) {
    if (had_failed && !reported_failed_) {
      LogWarn("service_unresolved",
              {{"service", host_}, {"why", std::string(addresses.status().message())}});
      reported_failed_ = true;
    }
    return;
  }
  if (std::exchange(reported_failed_, false)) LogInfo("service_resolved", {{"service", host_}});
  const std::vector<std::string> scalers = OfOneFamily(*addresses);
  const bool were_several = std::exchange(several_, scalers.size() > 1);
  if (several_ && were_several && !warned_) {
    LogWarn("duplicate_scalers", {{"service", host_},
                                  {"addresses", absl::StrJoin(scalers, ",")},
                                  {"why", "each answers for its own node: run it on one"}});
    warned_ = true;
  }
  if (!several_ && warned_) {
    LogInfo("duplicate_scalers_gone", {{"service", host_}});
    warned_ = false;
  }
}

}  // namespace gpuscaler
