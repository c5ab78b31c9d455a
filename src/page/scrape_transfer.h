// One GET on its way: what libcurl is told and what it hands on.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "page/curl_connection.h"
#include "page/curl_easy.h"
#include "page/large_bodies.h"
#include "page/scrape_request.h"

namespace gpuscaler {

// A body has this much for itself, and shares LargeBodies beyond: engines' pages are some ten KiB.
inline constexpr size_t kSmallBody = size_t{128} << 10;

// Whose page it is, and who answers for the memory that it takes.
struct MemoryBudget {
  std::string tenant;
  std::shared_ptr<LargeBodies> large_bodies;
};

// Not thread-safe; all of it happens on the thread that drives the handle.
class ScrapeTransfer {
 public:
  ScrapeTransfer(ScrapeRequest request, const MemoryBudget& budget);
  ScrapeTransfer(const ScrapeTransfer&) = delete;
  ScrapeTransfer& operator=(const ScrapeTransfer&) = delete;

  // Knows all of the request: which protocols, where to, what with, how much at most.
  CURL* handle() const { return easy_.get(); }
  CurlEasy& easy() { return easy_; }

  // Not OK: it cannot be asked for, and why.
  absl::Status Ready() const;

  // What has become of it, once libcurl says that it has ended. A fault begins with the place.
  absl::StatusOr<Page> Result(CURLcode code);

  // What was missing when time was up: DEADLINE_EXCEEDED.
  absl::Status TimedOut(absl::Duration after) const;

 private:
  void SetUp();

  size_t TakeHeader(absl::string_view line);
  size_t TakeBody(absl::string_view bytes);

  size_t Refuse(absl::Status fault);
  absl::Status At(const absl::Status& fault) const;  // with the place before it

  static size_t OnHeader(char* bytes, size_t one, size_t count, void* transfer);
  static size_t OnBody(char* bytes, size_t one, size_t count, void* transfer);

  const ScrapeRequest request_;
  const TlsIdentity identity_;
  CurlList headers_;
  CurlEasy easy_;
  CurlConnection connection_;
  char detail_[CURL_ERROR_SIZE] = "";
  size_t header_bytes_ = 0;
  LargeBody memory_;  // of body_
  std::string body_;
  absl::Status refused_;  // why we ended it ourselves
};

}  // namespace gpuscaler
