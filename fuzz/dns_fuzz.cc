// DNS replies, as far as this program parses them; getaddrinfo() parses all others.
#include <arpa/nameser.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "absl/status/status.h"
#include "base/dns_reply.h"
#include "fuzz_assert.h"

namespace gpuscaler {
namespace {

bool IsPrintable(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

void CheckReply(absl::Span<const unsigned char> reply) {
  for (const ns_type type : {ns_t_a, ns_t_aaaa}) {
    const auto alias = LastAliasIn(reply, type, "A of a");
    if (alias.ok()) {
      FUZZ_ASSERT(alias->size() < NS_MAXDNAME && IsPrintable(*alias));
    } else {
      FUZZ_ASSERT(absl::IsUnavailable(alias.status()));
    }
  }
  if (reply.size() >= NS_HFIXEDSZ) FUZZ_ASSERT(!FailureIn(reply, ETIMEDOUT).empty());
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckReply({data, size});
  return 0;
}
