// One libcurl handle and its options.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "page/curl_library.h"
#include "page/server_address.h"

namespace gpuscaler {

// Owns a curl_slist. Not thread-safe.
class CurlList {
 public:
  void Add(const std::string& text) {
    list_.reset(Curl().slist_append(list_.release(), text.c_str()));
  }
  curl_slist* get() const { return list_.get(); }

 private:
  std::unique_ptr<curl_slist, CurlDeleter<&CurlFunctions::slist_free_all>> list_;
};

// The defaults hold for all our connections: HTTP/1.1, with TLS a checked certificate, no redirect,
// no proxy or .netrc of the environment, no signals. Without libcurl there is no handle, and
// status() is the error of LoadCurl(). Not thread-safe.
class CurlEasy {
 public:
  CurlEasy();

  CURL* get() const { return handle_.get(); }

  // Options and values as in curl_easy_setopt(3).
  void Set(CURLoption option, long value) { SetChecked(option, value); }  // curl_off_t too
  void Set(CURLoption option, const char* text) { SetChecked(option, text); }
  void Set(CURLoption option, const std::string& text) { SetChecked(option, text.c_str()); }
  void Set(CURLoption option, const CurlList& list) { SetChecked(option, list.get()); }
  template <typename Value>
  void Set(CURLoption option, Value* pointer_or_function) {
    SetChecked(option, pointer_or_function);
  }
  // Sets our certificate, and the only authority to trust if one is given. `identity` must outlive
  // the handle.
  void SetTls(const TlsIdentity& identity);

  // Returns FAILED_PRECONDITION for the first option that libcurl refused. No request may be sent
  // then: it could skip a certificate check or resolve a name.
  const absl::Status& status() const { return status_; }

  template <typename Value>
  Value Info(CURLINFO info, Value otherwise) const {
    Value value = otherwise;
    Curl().easy_getinfo(get(), info, &value);
    return value;
  }

 private:
  template <typename Value>
  void SetChecked(CURLoption option, Value value) {
    if (handle_ != nullptr) Check(option, Curl().easy_setopt(handle_.get(), option, value));
  }
  // `text` must outlive the handle. If it is empty, the option is not set.
  void SetBlob(CURLoption option, const std::string& text);
  void Check(CURLoption option, CURLcode code);

  std::unique_ptr<CURL, CurlDeleter<&CurlFunctions::easy_cleanup>> handle_;
  absl::Status status_;
};

}  // namespace gpuscaler
