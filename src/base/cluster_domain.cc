#include "base/cluster_domain.h"

#include <netinet/in.h>
#include <resolv.h>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace gpuscaler {

std::string ClusterDomainHere() {
  struct __res_state state = {};
  if (res_ninit(&state) != 0) return "";
  std::string found;
  for (char* const* domain = state.dnsrch; *domain != nullptr && found.empty(); ++domain) {
    absl::string_view rest = *domain;
    if (!absl::ConsumePrefix(&rest, "svc.")) continue;
    found = absl::AsciiStrToLower(absl::StripSuffix(rest, "."));
  }
  res_nclose(&state);
  return found;
}

}  // namespace gpuscaler
