#include "page/curl_easy.h"

#include "absl/strings/str_cat.h"

namespace gpuscaler {

CurlEasy::CurlEasy() : status_(LoadCurl()) {
  if (status_.ok()) handle_.reset(Curl().easy_init());
  if (status_.ok() && handle_ == nullptr) status_ = absl::UnavailableError("libcurl has no memory");
  Set(CURLOPT_PROTOCOLS_STR, "http,https");
  Set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  Set(CURLOPT_FOLLOWLOCATION, 0L);
  Set(CURLOPT_NETRC, long{CURL_NETRC_IGNORED});
  Set(CURLOPT_PROXY, "");  // without it libcurl uses http_proxy of the environment
  Set(CURLOPT_NOPROXY, "*");
  Set(CURLOPT_NOSIGNAL, 1L);
  Set(CURLOPT_SSL_VERIFYPEER, 1L);
  Set(CURLOPT_SSL_VERIFYHOST, 2L);
}

void CurlEasy::SetTls(const TlsIdentity& identity) {
  SetBlob(CURLOPT_SSLCERT_BLOB, identity.cert);
  SetBlob(CURLOPT_SSLKEY_BLOB, identity.key);
  if (identity.ca.empty()) return;
  SetBlob(CURLOPT_CAINFO_BLOB, identity.ca);
  Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // only that authority
}

void CurlEasy::SetBlob(CURLoption option, const std::string& text) {
  if (text.empty()) return;
  curl_blob blob = {
      .data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_NOCOPY};
  Set(option, &blob);
}

void CurlEasy::Check(CURLoption option, CURLcode code) {
  if (code == CURLE_OK || !status_.ok()) return;
  status_ = absl::FailedPreconditionError(
      absl::StrCat("libcurl does not take its option ", static_cast<int>(option), ": ",
                   Curl().easy_strerror(code), "; it takes 7.85 or newer, with OpenSSL"));
}

}  // namespace gpuscaler
