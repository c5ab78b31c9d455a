// One GET on its way: what libcurl is told and what it hands on.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "signal/page_request.h"

namespace gpuscaler {

// A body has this much for itself. What is larger shares LargeBodies, so that many hostile pages
// at once take no more memory than that: engines' pages are some ten KiB.
constexpr size_t kSmallBody = size_t{128} << 10;

// Memory that is left for bodies beyond kSmallBody, in bytes. Not thread-safe.
struct LargeBodies {
  size_t left = size_t{64} << 20;
};

// Not thread-safe; all of it happens on the thread that drives the handle.
class PageTransfer {
 public:
  // `large_bodies` outlives it.
  PageTransfer(PageRequest request, LargeBodies& large_bodies);
  ~PageTransfer();
  PageTransfer(const PageTransfer&) = delete;
  PageTransfer& operator=(const PageTransfer&) = delete;

  // Knows all of the request: which protocols, where to, what with, how much at most.
  CURL* handle() { return handle_.get(); }

  // Not OK: it cannot be asked for, and why.
  absl::Status Ready() const { return refused_.ok() ? refused_ : At(refused_); }

  // What has become of it, once libcurl says that it has ended. A fault begins with the place.
  absl::StatusOr<Page> Result(CURLcode code);

  // What was missing when time was up: DEADLINE_EXCEEDED.
  absl::Status TimedOut(absl::Duration after) const;

 private:
  struct FreeHandle {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  void SetUp();
  void SetUpTls();
  void SetPem(CURLoption option, const std::string& pem);
  void AddHeader(const std::string& line);

  size_t TakeHeader(absl::string_view line);
  size_t TakeBody(absl::string_view bytes);
  curl_socket_t OpenSocket(const curl_sockaddr& where);

  size_t Refuse(absl::Status fault);
  absl::Status At(const absl::Status& fault) const;  // with the place before it

  static size_t OnHeader(char* bytes, size_t one, size_t count, void* transfer);
  static size_t OnBody(char* bytes, size_t one, size_t count, void* transfer);
  static curl_socket_t OnOpen(void* transfer, curlsocktype purpose, curl_sockaddr* where);

  const PageRequest request_;
  LargeBodies& large_bodies_;
  const std::unique_ptr<CURL, FreeHandle> handle_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<curl_slist, FreeList> connect_to_;
  char detail_[CURL_ERROR_SIZE] = "";
  size_t header_bytes_ = 0;
  size_t large_bytes_ = 0;  // taken of large_bodies_
  std::string body_;
  absl::Status refused_;  // why we ended it ourselves
};

}  // namespace gpuscaler
