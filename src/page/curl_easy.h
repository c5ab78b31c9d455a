// One handle of libcurl, and what it was told.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "page/curl_library.h"

namespace gpuscaler {

// Of curl_slist.
class CurlList {
 public:
  void Add(const std::string& text) {
    list_.reset(Curl().slist_append(list_.release(), text.c_str()));
  }
  curl_slist* get() const { return list_.get(); }

 private:
  struct Free {
    void operator()(curl_slist* list) const { Curl().slist_free_all(list); }
  };
  std::unique_ptr<curl_slist, Free> list_;
};

// Once LoadCurl() was OK; without it there is no handle, and that is its fault. Not thread-safe.
class CurlEasy {
 public:
  CurlEasy();

  CURL* get() const { return handle_.get(); }

  // Options are those of curl_easy_setopt(3), and their values as it has them.
  void Set(CURLoption option, long value) { Reported(option, value); }  // curl_off_t too
  void Set(CURLoption option, const char* text) { Reported(option, text); }
  void Set(CURLoption option, const std::string& text) { Reported(option, text.c_str()); }
  void Set(CURLoption option, const CurlList& list) { Reported(option, list.get()); }
  template <typename Value>
  void Set(CURLoption option, Value* pointer_or_function) {
    Reported(option, pointer_or_function);
  }
  // The text outlives the handle. Empty: the option is left alone.
  void SetBlob(CURLoption option, const std::string& text);

  // FAILED_PRECONDITION: libcurl did not take an option, the first such. Nothing may be asked for
  // then: without it a certificate might not be checked, or a name be resolved.
  const absl::Status& status() const { return status_; }

  template <typename Value>
  Value Info(CURLINFO info, Value otherwise) const {
    Value value = otherwise;
    Curl().easy_getinfo(get(), info, &value);
    return value;
  }

 private:
  struct Free {
    void operator()(CURL* handle) const { Curl().easy_cleanup(handle); }
  };

  template <typename Value>
  void Reported(CURLoption option, Value value) {
    if (handle_ != nullptr) Note(option, Curl().easy_setopt(handle_.get(), option, value));
  }
  void Note(CURLoption option, CURLcode code);

  std::unique_ptr<CURL, Free> handle_;
  absl::Status status_;
};

}  // namespace gpuscaler
