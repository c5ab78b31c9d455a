// Parameters and headers of the web port's requests, one a line: value, from, to, Host,
// Authorization.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "fuzz_assert.h"
#include "web/web_access.h"
#include "web/web_query.h"

namespace gpuscaler {
namespace {

void CheckParameters(const WebRequest& request) {
  const auto number = NumberParameter(request, "value", 0, 1000);
  FUZZ_ASSERT(!number.ok() || (*number && **number >= 0 && **number <= 1000));
  const auto count = CountParameter(request, "value", 1, 50);
  FUZZ_ASSERT(!count.ok() || (*count && **count >= 1 && **count <= 50));
  const absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  const auto range = TimeRangeOf(request, now);
  FUZZ_ASSERT(!range.ok() || (range->from < range->to && range->to <= now));
}

// Returns true for a name of the loopback interface, alone or with a port.
bool IsLoopback(absl::string_view host) {
  for (const absl::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (!absl::StartsWithIgnoreCase(host, name)) continue;
    const absl::string_view rest = host.substr(name.size());
    if (rest.empty()) return true;
    if (rest.front() == ':' && std::ranges::all_of(rest.substr(1), absl::ascii_isdigit))
      return true;
  }
  return false;
}

void CheckAccess(absl::string_view host, absl::string_view authorization) {
  static const std::unique_ptr<WebAccess> access = *WebAccess::Open({.bind_address = "127.0.0.1"});
  FUZZ_ASSERT(!access->CheckHost(host).ok() || IsLoopback(host));
  access->CheckToken(authorization).IgnoreError();
  WebAccess::CheckSite(authorization).IgnoreError();
}

void CheckRequest(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.resize(5);
  CheckParameters(
      {.path = "/", .query = {{"value", lines[0]}, {"from", lines[1]}, {"to", lines[2]}}});
  CheckAccess(lines[3], lines[4]);
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckRequest({reinterpret_cast<const char*>(data), size});
  return 0;
}
