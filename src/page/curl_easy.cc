#include "page/curl_easy.h"

#include "absl/strings/str_cat.h"

namespace gpuscaler {

CurlEasy::CurlEasy() : status_(LoadCurl()) {
  if (status_.ok()) handle_.reset(Curl().easy_init());
  if (status_.ok() && handle_ == nullptr) status_ = absl::UnavailableError("libcurl has no memory");
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
