#include "base/name_absence.h"

#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

struct RecordType {
  ns_type number;
  const char* name;
};

constexpr RecordType kAddressTypes[] = {{ns_t_a, "A"}, {ns_t_aaaa, "AAAA"}};

constexpr int kMostAliases = 8;  // one after the other: they may lead in a circle

// RFC 1035, 4.1.1: of the header's third and fourth byte.
constexpr unsigned char kIsReply = 0x80;
constexpr unsigned char kIsCutOff = 0x02;
constexpr unsigned char kCode = 0x0f;

std::string CodeText(int code) {
  switch (code) {
    case ns_r_formerr:
      return "FORMERR";
    case ns_r_servfail:
      return "SERVFAIL";
    case ns_r_notimpl:
      return "NOTIMP";
    case ns_r_refused:
      return "REFUSED";
    default:
      return absl::StrCat("RCODE ", code);
  }
}

// The system's resolver, as /etc/resolv.conf is now.
class Resolver {
 public:
  Resolver() : is_open_(res_ninit(&state_) == 0) {
    state_.retry = 1;  // getaddrinfo() has been patient before
  }
  ~Resolver() {
    if (is_open_) res_nclose(&state_);
  }
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  bool is_open() const { return is_open_; }

  // All that stand for `host`, whatever comes first: that is up to its dots. glibc hands out six
  // domains of the search list; a cluster's own are the first three.
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

  // Where a server has followed an alias in vain, it may say so of a failure there, too: what it
  // leads to is asked by itself.
  absl::StatusOr<std::string> NameWithout(const RecordType& type, const std::string& name) {
    std::string asked = name;
    for (int aliases = 0; aliases <= kMostAliases; ++aliases) {
      ASSIGN_OR_RETURN(std::string alias, AliasOf(asked, type));
      if (alias.empty()) return asked;
      asked = std::move(alias);
    }
    return absl::UnavailableError(
        absl::StrCat(type.name, " of ", name, ": more than ", kMostAliases, " aliases"));
  }

 private:
  // Of a name without such an address; empty: nor is it an alias.
  absl::StatusOr<std::string> AliasOf(const std::string& name, const RecordType& type) {
    std::fill_n(reply_.begin(), NS_HFIXEDSZ, 0);
    const int size = res_nquery(&state_, name.c_str(), ns_c_in, type.number, reply_.data(),
                                static_cast<int>(reply_.size()));
    const int error = errno;
    const std::string question = absl::StrCat(type.name, " of ", name);
    if (size >= 0) return AliasIn(size, type, question);
    const int what = state_.res_h_errno;
    if (what == HOST_NOT_FOUND || what == NO_DATA) return "";
    return absl::UnavailableError(absl::StrCat(question, ": ", Failure(error)));
  }

  // The last one of the reply's.
  absl::StatusOr<std::string> AliasIn(int size, const RecordType& type,
                                      const std::string& question) const {
    const absl::Status faulty = absl::UnavailableError(absl::StrCat(question, ": a faulty reply"));
    ns_msg reply;
    if (ns_initparse(reply_.data(), size, &reply) != 0) return faulty;
    std::array<char, NS_MAXDNAME> alias = {};
    for (int i = 0; i < ns_msg_count(reply, ns_s_an); ++i) {
      ns_rr record;
      if (ns_parserr(&reply, ns_s_an, i, &record) != 0) return faulty;
      if (ns_rr_type(record) == type.number) {
        return absl::UnavailableError(absl::StrCat(question, " is answered by now"));
      }
      if (ns_rr_type(record) == ns_t_cname &&
          ns_name_uncompress(ns_msg_base(reply), ns_msg_end(reply), ns_rr_rdata(record),
                             alias.data(), alias.size()) < 0) {
        return faulty;
      }
    }
    return alias.data();
  }

  // By the last reply of a server, where one came.
  std::string Failure(int error) const {
    const int code = reply_[3] & kCode;
    if ((reply_[2] & kIsReply) == 0) return strerror(error);
    if (code != ns_r_noerror) return CodeText(code);
    return (reply_[2] & kIsCutOff) != 0 ? "too long for UDP, and TCP fails" : "a faulty reply";
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
