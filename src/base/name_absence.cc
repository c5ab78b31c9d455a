#include "base/name_absence.h"

#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/dns_reply.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

struct RecordType {
  ns_type number;
  const char* name;
};

constexpr RecordType kAddressTypes[] = {{ns_t_a, "A"}, {ns_t_aaaa, "AAAA"}};

constexpr int kMaxAliases = 8;  // in one chain, which may be a loop

// The system's resolver, as /etc/resolv.conf is now.
class Resolver {
 public:
  Resolver() : is_open_(res_ninit(&state_) == 0) {
    state_.retry = 1;  // getaddrinfo() has retried before
  }
  ~Resolver() {
    if (is_open_) res_nclose(&state_);
  }
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  bool is_open() const { return is_open_; }

  // Returns every name that the resolver tries for `host`. The resolver's order depends on the dots
  // in `host` and does not matter here. glibc provides six domains of the search list; a cluster's
  // own are the first three.
  std::vector<std::string> NamesOf(const std::string& host) const {
    std::vector<std::string> names;
    if (!absl::EndsWith(host, ".")) {
      for (char* const* domain = state_.dnsrch; *domain != nullptr; ++domain) {
        const absl::string_view root = ".";
        if (*domain != root) names.push_back(absl::StrCat(host, ".", *domain));
      }
    }
    names.push_back(host);
    return names;
  }

  // Returns the last alias of `name`, which has no record of `type`. Queries each alias on its own:
  // a server that followed one may report a failure at its target as "no record".
  absl::StatusOr<std::string> NameWithout(const RecordType& type, const std::string& name) {
    std::string current = name;
    for (int aliases = 0; aliases <= kMaxAliases; ++aliases) {
      ASSIGN_OR_RETURN(std::string alias, AliasOf(current, type));
      if (alias.empty()) return current;
      current = std::move(alias);
    }
    return absl::UnavailableError(
        absl::StrCat(type.name, " of ", name, ": more than ", kMaxAliases, " aliases"));
  }

 private:
  // Returns the alias of a name without a record of `type`, or "" if it is no alias.
  absl::StatusOr<std::string> AliasOf(const std::string& name, const RecordType& type) {
    std::fill_n(reply_.begin(), NS_HFIXEDSZ, 0);
    const int size = res_nquery(&state_, name.c_str(), ns_c_in, type.number, reply_.data(),
                                static_cast<int>(reply_.size()));
    const int error = errno;
    const std::string question = absl::StrCat(type.name, " of ", name);
    if (size >= 0) {
      return LastAliasIn({reply_.data(), static_cast<size_t>(size)}, type.number, question);
    }
    const int failure = state_.res_h_errno;
    if (failure == HOST_NOT_FOUND || failure == NO_DATA) return "";
    return absl::UnavailableError(absl::StrCat(question, ": ", FailureIn(reply_, error)));
  }

  struct __res_state state_ = {};
  const bool is_open_;
  std::vector<unsigned char> reply_ = std::vector<unsigned char>(NS_MAXMSG);
};

}  // namespace

absl::StatusOr<std::string> NameWithoutAddress(const std::string& host) {
  Resolver resolver;
  if (!resolver.is_open()) return absl::UnavailableError("the resolver cannot be set up");
  std::string canonical_name = host;
  for (const std::string& name : resolver.NamesOf(host)) {
    for (const RecordType& type : kAddressTypes) {
      ASSIGN_OR_RETURN(std::string last, resolver.NameWithout(type, name));
      if (last != name) canonical_name = std::move(last);
    }
  }
  return canonical_name;
}

}  // namespace gpuscaler
