#include "page/scrape_transfer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "page/http_endpoint.h"
#include "page/scrape_fault.h"

namespace gpuscaler {
namespace {

constexpr size_t kMaxHeaderBytes = size_t{64} << 10;  // in total; engines send a few hundred

absl::Status TooLarge() {
  return absl::ResourceExhaustedError(
      absl::StrCat("its page is larger than ", kMaxExpositionBytes >> 20, " MiB"));
}

bool IsVisible(absl::string_view text) { return std::ranges::all_of(text, absl::ascii_isgraph); }

std::string Url(const ScrapeRequest& request) {
  return absl::StrCat(request.server.tls ? "https://" : "http://",
                      HostAndPort(request.server.host, request.server.port), request.path);
}

}  // namespace

ScrapeTransfer::ScrapeTransfer(ScrapeRequest request, std::shared_ptr<ResponseMemory> all,
                               std::string tenant)
    : request_(std::move(request)),
      connection_(easy_, request_.server),
      memory_(std::move(all), std::move(tenant), kSmallBody) {
  if (easy_.status().ok()) SetUp();
}

absl::Status ScrapeTransfer::Ready() const {
  if (!easy_.status().ok()) return WithAddress(easy_.status());
  return aborted_.ok() ? aborted_ : WithAddress(aborted_);
}

void ScrapeTransfer::SetUp() {
  easy_.Set(CURLOPT_URL, Url(request_));
  easy_.Set(CURLOPT_PATH_AS_IS, 1L);
  easy_.Set(CURLOPT_TIMEOUT_MS, 0L);  // MetricsFetcher's: a busy thread must cause no timeout
  easy_.Set(CURLOPT_MAXFILESIZE_LARGE, long{kMaxExpositionBytes});
  easy_.Set(CURLOPT_ERRORBUFFER, detail_);
  easy_.Set(CURLOPT_HEADERFUNCTION, &ScrapeTransfer::OnHeader);
  easy_.Set(CURLOPT_HEADERDATA, this);
  easy_.Set(CURLOPT_WRITEFUNCTION, &ScrapeTransfer::OnBody);
  easy_.Set(CURLOPT_WRITEDATA, this);
  easy_.Set(CURLOPT_USERAGENT, "keda-gpu-scaler");
  headers_.Add("Accept: text/plain;version=0.0.4, application/json;q=0.9, */*;q=0.1");
  if (!request_.bearer_token.empty()) {
    if (IsVisible(request_.bearer_token)) {
      headers_.Add(absl::StrCat("Authorization: Bearer ", request_.bearer_token));
    } else {
      Abort(absl::InvalidArgumentError("the bearer token has spaces or control characters"));
    }
  }
  if (!request_.login.empty()) {
    headers_.Add(absl::StrCat("Authorization: Basic ", absl::Base64Escape(request_.login)));
  }
  easy_.Set(CURLOPT_HTTPHEADER, headers_);
}

absl::StatusOr<Page> ScrapeTransfer::Result(CURLcode code) {
  if (!Ready().ok()) return Ready();
  if (!connection_.refused().ok()) return WithAddress(connection_.refused());
  if (code == CURLE_FILESIZE_EXCEEDED) return WithAddress(TooLarge());
  if (code != CURLE_OK) {
    const auto os_error = static_cast<int>(easy_.Info(CURLINFO_OS_ERRNO, 0L));
    return WithAddress(TransferFault(code, os_error, detail_));
  }
  constexpr const char* kNone = nullptr;
  const char* const redirect = easy_.Info(CURLINFO_REDIRECT_URL, kNone);
  const char* const content_type = easy_.Info(CURLINFO_CONTENT_TYPE, kNone);
  const long http_status = easy_.Info(CURLINFO_RESPONSE_CODE, 0L);
  if (http_status != 200) {
    return WithAddress(HttpStatusFault(http_status, redirect == nullptr ? "" : redirect));
  }
  return Page{.format = ExpositionFormatOf(content_type == nullptr ? "" : content_type),
              .body = std::move(body_)};
}

absl::Status ScrapeTransfer::TimedOut(absl::Duration after) const {
  const auto connected = easy_.Info(CURLINFO_CONNECT_TIME_T, curl_off_t{0});
  const auto sent = easy_.Info(CURLINFO_PRETRANSFER_TIME_T, curl_off_t{0});
  const char* const missing = header_bytes_ > 0 ? "its answer did not end"
                              : sent > 0        ? "no answer"
                              : connected > 0   ? "no TLS handshake"
                                                : "no connection";
  return WithAddress(
      absl::DeadlineExceededError(absl::StrCat(missing, " within ", absl::FormatDuration(after))));
}

size_t ScrapeTransfer::TakeHeader(absl::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) {
    return Abort(absl::FailedPreconditionError(
        absl::StrCat("its headers are larger than ", kMaxHeaderBytes, " bytes")));
  }
  const std::string header = absl::AsciiStrToLower(line);
  if (absl::StartsWith(header, "content-encoding:") && !absl::StrContains(header, "identity")) {
    return Abort(absl::FailedPreconditionError("its page is compressed, unasked"));
  }
  return line.size();
}

size_t ScrapeTransfer::TakeBody(absl::string_view bytes) {
  const size_t size = body_.size() + bytes.size();
  if (size > kMaxExpositionBytes) return Abort(TooLarge());
  if (size > body_.capacity()) {
    const size_t capacity = std::min(kMaxExpositionBytes, std::max(size, 2 * body_.capacity()));
    if (!memory_.Resize(capacity)) {
      return Abort(absl::ResourceExhaustedError("too many large pages at once: no memory for it"));
    }
    body_.reserve(capacity);
  }
  body_.append(bytes.data(), bytes.size());
  return bytes.size();
}

size_t ScrapeTransfer::Abort(absl::Status fault) {
  if (aborted_.ok()) aborted_ = std::move(fault);
  return 0;  // fewer than received: libcurl aborts the transfer
}

absl::Status ScrapeTransfer::WithAddress(const absl::Status& fault) const {
  return {fault.code(), absl::StrCat(request_.Place(), ": ", fault.message())};
}

size_t ScrapeTransfer::OnHeader(char* bytes, size_t one, size_t count, void* transfer) {
  return static_cast<ScrapeTransfer*>(transfer)->TakeHeader({bytes, one * count});
}

size_t ScrapeTransfer::OnBody(char* bytes, size_t one, size_t count, void* transfer) {
  return static_cast<ScrapeTransfer*>(transfer)->TakeBody({bytes, one * count});
}

}  // namespace gpuscaler
