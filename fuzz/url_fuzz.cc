// Endpoint URLs, which tenants write.
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/host_name.h"
#include "fuzz_assert.h"
#include "page/cidr_block.h"
#include "page/http_endpoint.h"

namespace gpuscaler {
namespace {

bool IsClean(absl::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c >= 0x7f || c == '#' || c == '\\') return false;
  }
  return true;
}

void CheckUrl(absl::string_view text) {
  const auto endpoint = ParseHttpEndpoint(text);
  if (!endpoint.ok()) {
    FUZZ_ASSERT(endpoint.status().code() == absl::StatusCode::kInvalidArgument);
    FUZZ_ASSERT(!endpoint.status().message().empty());
    return;
  }
  FUZZ_ASSERT(IsHostName(endpoint->host) || ParseIpAddress(endpoint->host).has_value());
  FUZZ_ASSERT(endpoint->PortOfScheme() >= 1 && endpoint->PortOfScheme() <= 65535);
  FUZZ_ASSERT(endpoint->path.empty() || absl::StartsWith(endpoint->path, "/"));
  FUZZ_ASSERT(IsClean(endpoint->path) && !absl::StrContains(endpoint->Text(), '?'));

  HttpEndpoint without_query = *endpoint;
  without_query.path = without_query.path.substr(0, without_query.path.find('?'));
  const auto again = ParseHttpEndpoint(endpoint->Text());
  FUZZ_ASSERT(again.ok() && *again == without_query);
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckUrl({reinterpret_cast<const char*>(data), size});
  return 0;
}
