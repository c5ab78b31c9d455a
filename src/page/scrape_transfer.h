// One GET request: its libcurl options and its response.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "page/curl_connection.h"
#include "page/curl_easy.h"
#include "page/response_memory.h"
#include "page/scrape_request.h"

namespace gpuscaler {

// Each body has this much memory of its own and shares ResponseMemory beyond. Engines' expositions
// are some ten KiB.
inline constexpr size_t kSmallBody = size_t{128} << 10;

// Not thread-safe: used on the thread that drives the handle.
class ScrapeTransfer {
 public:
  // `tenant` shares the memory for large responses, `all`, with others.
  explicit ScrapeTransfer(ScrapeRequest request,
                          std::shared_ptr<ResponseMemory> all = std::make_shared<ResponseMemory>(),
                          std::string tenant = "");
  ScrapeTransfer(const ScrapeTransfer&) = delete;
  ScrapeTransfer& operator=(const ScrapeTransfer&) = delete;

  // Returns a handle with all options set: protocols, address, credentials, limits.
  CURL* handle() const { return easy_.get(); }
  CurlEasy& easy() { return easy_; }

  // Returns why the request cannot be sent, or OK.
  absl::Status Ready() const;

  // Must be called after libcurl ended the transfer. An error begins with the address.
  absl::StatusOr<Page> Result(CURLcode code);

  // Returns DEADLINE_EXCEEDED with the phase that did not end in time.
  absl::Status TimedOut(absl::Duration after) const;

 private:
  void SetUp();

  size_t TakeHeader(absl::string_view line);
  size_t TakeBody(absl::string_view bytes);

  size_t Abort(absl::Status fault);
  absl::Status WithAddress(const absl::Status& fault) const;  // prefixed with the address

  static size_t OnHeader(char* bytes, size_t one, size_t count, void* transfer);
  static size_t OnBody(char* bytes, size_t one, size_t count, void* transfer);

  const ScrapeRequest request_;
  CurlList headers_;
  CurlEasy easy_;
  CurlConnection connection_;
  char detail_[CURL_ERROR_SIZE] = "";
  size_t header_bytes_ = 0;
  MemoryReservation memory_;  // accounts for body_
  std::string body_;
  absl::Status aborted_;  // why this object aborted the transfer
};

}  // namespace gpuscaler
