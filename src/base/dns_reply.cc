#include "base/dns_reply.h"

#include <arpa/nameser.h>
#include <resolv.h>

#include <array>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Bits of the header's third and fourth byte (RFC 1035, section 4.1.1).
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

}  // namespace

absl::StatusOr<std::string> LastAliasIn(absl::Span<const unsigned char> reply, uint16_t type,
                                        absl::string_view question) {
  const absl::Status faulty = absl::UnavailableError(absl::StrCat(question, ": a faulty reply"));
  ns_msg message;
  if (ns_initparse(reply.data(), static_cast<int>(reply.size()), &message) != 0) return faulty;
  std::array<char, NS_MAXDNAME> alias = {};
  for (int i = 0; i < ns_msg_count(message, ns_s_an); ++i) {
    ns_rr record;
    if (ns_parserr(&message, ns_s_an, i, &record) != 0) return faulty;
    if (ns_rr_type(record) == type) {
      return absl::UnavailableError(absl::StrCat(question, " is answered by now"));
    }
    if (ns_rr_type(record) == ns_t_cname &&
        ns_name_uncompress(ns_msg_base(message), ns_msg_end(message), ns_rr_rdata(record),
                           alias.data(), alias.size()) < 0) {
      return faulty;
    }
  }
  return alias.data();
}

std::string FailureIn(absl::Span<const unsigned char> reply, int error) {
  const int code = reply[3] & kCode;
  if ((reply[2] & kIsReply) == 0) return strerror(error);
  if (code != ns_r_noerror) return CodeText(code);
  return (reply[2] & kIsCutOff) != 0 ? "too long for UDP, and TCP fails" : "a faulty reply";
}

}  // namespace gpuscaler
