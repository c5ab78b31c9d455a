#include "page/host_pattern.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

bool Matches(absl::string_view pattern, absl::string_view host) {
  return absl::ConsumePrefix(&pattern, "*") ? absl::EndsWith(host, pattern) : host == pattern;
}

}  // namespace

bool MatchesAny(const std::vector<std::string>& patterns, absl::string_view host,
                absl::string_view cluster_domain) {
  const std::string of_services = absl::StrCat(".svc.", cluster_domain);
  // Removes a final dot, and the cluster's domain after "svc".
  const auto shortest = [&](absl::string_view name) {
    name = absl::StripSuffix(name, ".");
    if (absl::EndsWith(name, of_services)) name.remove_suffix(cluster_domain.size() + 1);
    return name;
  };
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return Matches(shortest(pattern), shortest(host));
  });
}

}  // namespace gpuscaler
