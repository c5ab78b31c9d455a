#include "page/scrape_fault.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "page/curl_library.h"
#include "page/http_endpoint.h"

namespace gpuscaler {
namespace {

absl::Status Unavailable(absl::string_view what) { return absl::UnavailableError(what); }

absl::Status WrongServer(absl::string_view what) { return absl::FailedPreconditionError(what); }

// "SSL certificate problem: self-signed certificate"
std::string CertificateFault(absl::string_view detail) {
  for (const absl::string_view before : {"SSL certificate problem: ", "SSL: "}) {
    if (absl::StartsWith(detail, before)) detail.remove_prefix(before.size());
  }
  return absl::StrCat("its certificate: ", PrintableText(detail));
}

// The redirect comes from an untrusted server, so only a valid host is repeated.
std::string TargetOf(absl::string_view redirect_url) {
  const auto target = ParseHttpEndpoint(redirect_url);
  return target.ok() ? target->host : "elsewhere";
}

}  // namespace

absl::Status TransferFault(CURLcode code, int os_error, absl::string_view detail) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return Unavailable(os_error == 0 ? "no connection" : strerror(os_error));
    case CURLE_GOT_NOTHING:
      return Unavailable("it closed the connection without an answer");
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      return Unavailable("it broke the connection");
    case CURLE_PARTIAL_FILE:
      return Unavailable("its answer was cut off");
    case CURLE_PEER_FAILED_VERIFICATION:
      return WrongServer(CertificateFault(detail));
    case CURLE_SSL_CACERT_BADFILE:
      return absl::InvalidArgumentError("the CA that it is checked with is no PEM certificate");
    case CURLE_SSL_CERTPROBLEM:
      return absl::InvalidArgumentError("our own certificate and key for it cannot be used");
    case CURLE_SSL_CONNECT_ERROR:
      return WrongServer("no TLS handshake with it: it may not speak https at this port");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return WrongServer("its answer is not HTTP");
    default:
      return Unavailable(Curl().easy_strerror(code));
  }
}

absl::Status HttpStatusFault(long http_status, absl::string_view redirect_url) {
  const std::string answer = absl::StrCat("it answers HTTP ", http_status);
  if (!redirect_url.empty()) {
    return WrongServer(
        absl::StrCat(answer, ", to ", TargetOf(redirect_url), ": redirects are not followed"));
  }
  if (http_status == 404) return absl::NotFoundError(answer);
  if (http_status == 401 || http_status == 403) return absl::UnauthenticatedError(answer);
  if (http_status == 429 || http_status >= 500) return Unavailable(answer);
  return WrongServer(answer);
}

}  // namespace gpuscaler
