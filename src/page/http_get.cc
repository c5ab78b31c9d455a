#include "page/http_get.h"

#include <curl/curl.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "page/curl_easy.h"
#include "page/http_endpoint.h"
#include "page/scrape_fault.h"

namespace gpuscaler {
namespace {

// Body of an answer while it is received.
struct ReceivedBody {
  std::string text;
  size_t max_bytes;
  bool is_too_large = false;

  static size_t Take(char* bytes, size_t one, size_t count, void* received) {
    auto& body = *static_cast<ReceivedBody*>(received);
    const size_t size = one * count;
    body.is_too_large = body.text.size() + size > body.max_bytes;
    if (body.is_too_large) return 0;  // fewer than received: libcurl aborts the transfer
    body.text.append(bytes, size);
    return size;
  }
};

void SetTls(const TlsIdentity& identity, CurlEasy& easy) {
  easy.Set(CURLOPT_SSL_VERIFYPEER, 1L);
  easy.Set(CURLOPT_SSL_VERIFYHOST, 2L);
  easy.SetBlob(CURLOPT_SSLCERT_BLOB, identity.cert);
  easy.SetBlob(CURLOPT_SSLKEY_BLOB, identity.key);
  if (identity.ca.empty()) return;
  easy.SetBlob(CURLOPT_CAINFO_BLOB, identity.ca);
  easy.Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // only that authority
}

absl::Status AtUrl(const HttpEndpoint& endpoint, const absl::Status& fault) {
  return {fault.code(), absl::StrCat(endpoint.Text(), ": ", fault.message())};
}

}  // namespace

absl::StatusOr<HttpAnswer> HttpGet(const std::string& url, const HttpGetOptions& options) {
  ASSIGN_OR_RETURN(const HttpEndpoint endpoint, ParseHttpEndpoint(url));
  if (!std::ranges::all_of(options.bearer_token, absl::ascii_isgraph)) {
    return absl::InvalidArgumentError("the bearer token has spaces or control characters");
  }
  RETURN_IF_ERROR(LoadCurl());
  char detail[CURL_ERROR_SIZE] = "";
  ReceivedBody body{.text = "", .max_bytes = options.max_bytes};
  CurlList headers;
  headers.Add("Accept: application/json");
  if (!options.bearer_token.empty()) {
    headers.Add(absl::StrCat("Authorization: Bearer ", options.bearer_token));
  }
  CurlEasy easy;
  easy.Set(CURLOPT_URL, url);
  easy.Set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy.Set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  easy.Set(CURLOPT_FOLLOWLOCATION, 0L);
  easy.Set(CURLOPT_NETRC, long{CURL_NETRC_IGNORED});
  easy.Set(CURLOPT_PROXY, "");
  easy.Set(CURLOPT_NOPROXY, "*");
  easy.Set(CURLOPT_NOSIGNAL, 1L);
  easy.Set(CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(options.timeout)));
  easy.Set(CURLOPT_ERRORBUFFER, detail);
  easy.Set(CURLOPT_WRITEFUNCTION, &ReceivedBody::Take);
  easy.Set(CURLOPT_WRITEDATA, &body);
  easy.Set(CURLOPT_USERAGENT, "keda-gpu-scaler");
  easy.Set(CURLOPT_HTTPHEADER, headers);
  SetTls(options.identity, easy);
  if (!easy.status().ok()) return AtUrl(endpoint, easy.status());
  const CURLcode code = Curl().easy_perform(easy.get());
  if (body.is_too_large) {
    return AtUrl(endpoint, absl::ResourceExhaustedError(absl::StrCat(
                               "the answer is larger than ", options.max_bytes >> 20, " MiB")));
  }
  if (code != CURLE_OK) {
    const auto os_error = static_cast<int>(easy.Info(CURLINFO_OS_ERRNO, 0L));
    return AtUrl(endpoint, TransferFault(code, os_error, detail));
  }
  return HttpAnswer{.status = static_cast<int>(easy.Info(CURLINFO_RESPONSE_CODE, 0L)),
                    .body = std::move(body.text)};
}

}  // namespace gpuscaler
