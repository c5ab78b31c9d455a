#include "signal/page_transfer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "signal/http_endpoint.h"
#include "signal/page_fault.h"

namespace gpuscaler {
namespace {

constexpr size_t kMostHeaderBytes = size_t{64} << 10;  // of all headers: engines send some hundred

// Debian's libcurl takes "" for no proxy; without it the environment's http_proxy would be asked.
constexpr const char* kNoProxy = "";

template <typename Value>
void Set(CURL* handle, CURLoption option, Value value) {
  curl_easy_setopt(handle, option, value);
}

absl::Status TooLarge() {
  return absl::ResourceExhaustedError(
      absl::StrCat("its page is larger than ", kLargestPage >> 20, " MiB"));
}

// Empty: not of the Internet.
std::optional<std::pair<IpAddress, int>> AddressAndPort(const curl_sockaddr& where) {
  IpAddress address = *ParseIpAddress("0.0.0.0");
  if (where.family == AF_INET) {
    const auto& to = reinterpret_cast<const sockaddr_in&>(where.addr);
    std::memcpy(&address.bytes[12], &to.sin_addr, sizeof(to.sin_addr));
    return std::pair(address, int{ntohs(to.sin_port)});
  }
  if (where.family != AF_INET6) return std::nullopt;
  const auto& to = reinterpret_cast<const sockaddr_in6&>(where.addr);
  std::memcpy(address.bytes.data(), &to.sin6_addr, sizeof(to.sin6_addr));
  return std::pair(address, int{ntohs(to.sin6_port)});
}

bool IsVisible(absl::string_view text) { return std::ranges::all_of(text, absl::ascii_isgraph); }

std::string Url(const PageRequest& request) {
  return absl::StrCat(request.tls ? "https://" : "http://", HostAndPort(request.host, request.port),
                      request.path);
}

}  // namespace

PageTransfer::PageTransfer(PageRequest request, LargeBodies& large_bodies)
    : request_(std::move(request)), large_bodies_(large_bodies), handle_(curl_easy_init()) {
  SetUp();
  SetUpTls();
}

PageTransfer::~PageTransfer() { large_bodies_.left += large_bytes_; }

void PageTransfer::SetUp() {
  CURL* const curl = handle();
  Set(curl, CURLOPT_URL, Url(request_).c_str());
  Set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(curl, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  Set(curl, CURLOPT_FOLLOWLOCATION, 0L);
  Set(curl, CURLOPT_PATH_AS_IS, 1L);
  Set(curl, CURLOPT_PROXY, kNoProxy);
  Set(curl, CURLOPT_NOPROXY, "*");
  Set(curl, CURLOPT_NETRC, long{CURL_NETRC_IGNORED});
  Set(curl, CURLOPT_NOSIGNAL, 1L);
  Set(curl, CURLOPT_TIMEOUT_MS,
      0L);  // the fetcher's own: a busy thread must not count as a timeout
  Set(curl, CURLOPT_MAXFILESIZE_LARGE, curl_off_t{kLargestPage});
  Set(curl, CURLOPT_ERRORBUFFER, detail_);
  // No name is resolved, and of two addresses of one name each has its own connections.
  connect_to_.reset(curl_slist_append(
      nullptr,
      absl::StrCat("::", HostAndPort(IpAddressText(request_.address), request_.port)).c_str()));
  Set(curl, CURLOPT_CONNECT_TO, connect_to_.get());
  Set(curl, CURLOPT_OPENSOCKETFUNCTION, &PageTransfer::OnOpen);
  Set(curl, CURLOPT_OPENSOCKETDATA, this);
  Set(curl, CURLOPT_HEADERFUNCTION, &PageTransfer::OnHeader);
  Set(curl, CURLOPT_HEADERDATA, this);
  Set(curl, CURLOPT_WRITEFUNCTION, &PageTransfer::OnBody);
  Set(curl, CURLOPT_WRITEDATA, this);
  Set(curl, CURLOPT_USERAGENT, "keda-gpu-scaler");
  AddHeader("Accept: text/plain;version=0.0.4, application/json;q=0.9, */*;q=0.1");
  if (!request_.bearer_token.empty()) {
    if (IsVisible(request_.bearer_token)) {
      AddHeader(absl::StrCat("Authorization: Bearer ", request_.bearer_token));
    } else {
      Refuse(absl::InvalidArgumentError("the bearer token has spaces or control characters"));
    }
  }
  Set(curl, CURLOPT_HTTPHEADER, headers_.get());
}

void PageTransfer::SetUpTls() {
  CURL* const curl = handle();
  Set(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  Set(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  SetPem(CURLOPT_SSLCERT_BLOB, request_.cert_pem);
  SetPem(CURLOPT_SSLKEY_BLOB, request_.key_pem);
  SetPem(CURLOPT_CAINFO_BLOB, request_.ca_pem);
  if (request_.ca_pem.empty()) return;
  Set(curl, CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // that authority, and no other
}

void PageTransfer::SetPem(CURLoption option, const std::string& pem) {
  if (pem.empty()) return;
  curl_blob blob = {.data = const_cast<char*>(pem.data()),
                    .len = pem.size(),
                    .flags = CURL_BLOB_NOCOPY};  // request_ lives as long as the handle
  Set(handle(), option, &blob);
}

void PageTransfer::AddHeader(const std::string& line) {
  headers_.reset(curl_slist_append(headers_.release(), line.c_str()));
}

absl::StatusOr<Page> PageTransfer::Result(CURLcode code) {
  if (!refused_.ok()) return At(refused_);
  if (code == CURLE_FILESIZE_EXCEEDED) return At(TooLarge());
  if (code != CURLE_OK) {
    long os_error = 0;
    curl_easy_getinfo(handle(), CURLINFO_OS_ERRNO, &os_error);
    return At(TransferFault(code, static_cast<int>(os_error), detail_));
  }
  long http_status = 0;
  const char* redirect = nullptr;
  const char* content_type = nullptr;
  curl_easy_getinfo(handle(), CURLINFO_RESPONSE_CODE, &http_status);
  curl_easy_getinfo(handle(), CURLINFO_REDIRECT_URL, &redirect);
  curl_easy_getinfo(handle(), CURLINFO_CONTENT_TYPE, &content_type);
  if (http_status != 200) {
    return At(AnswerFault(http_status, redirect == nullptr ? "" : redirect));
  }
  return Page{.format = PageFormatOf(content_type == nullptr ? "" : content_type),
              .body = std::move(body_)};
}

absl::Status PageTransfer::TimedOut(absl::Duration after) const {
  curl_off_t connected = 0;
  curl_off_t asked = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_CONNECT_TIME_T, &connected);
  curl_easy_getinfo(handle_.get(), CURLINFO_PRETRANSFER_TIME_T, &asked);
  const char* const missing = header_bytes_ > 0 ? "its answer did not end"
                              : asked > 0       ? "no answer"
                              : connected > 0   ? "no TLS handshake"
                                                : "no connection";
  return At(
      absl::DeadlineExceededError(absl::StrCat(missing, " within ", absl::FormatDuration(after))));
}

size_t PageTransfer::TakeHeader(absl::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMostHeaderBytes) {
    return Refuse(absl::FailedPreconditionError(
        absl::StrCat("its headers are larger than ", kMostHeaderBytes, " bytes")));
  }
  const std::string header = absl::AsciiStrToLower(line);
  if (absl::StartsWith(header, "content-encoding:") && !absl::StrContains(header, "identity")) {
    return Refuse(absl::FailedPreconditionError("its page is compressed, unasked"));
  }
  return line.size();
}

size_t PageTransfer::TakeBody(absl::string_view bytes) {
  const size_t size = body_.size() + bytes.size();
  if (size > kLargestPage) return Refuse(TooLarge());
  const size_t large = size - std::min(size, std::max(body_.size(), kSmallBody));
  if (large > large_bodies_.left) {
    return Refuse(absl::ResourceExhaustedError("too many large pages at once: no memory for it"));
  }
  large_bodies_.left -= large;
  large_bytes_ += large;
  body_.append(bytes.data(), bytes.size());
  return bytes.size();
}

curl_socket_t PageTransfer::OpenSocket(const curl_sockaddr& where) {
  const std::optional<std::pair<IpAddress, int>> to = AddressAndPort(where);
  if (to != std::pair(request_.address, request_.port)) {
    Refuse(absl::PermissionDeniedError("a connection to another address was tried"));
    return CURL_SOCKET_BAD;
  }
  const int opened = socket(where.family, where.socktype | SOCK_CLOEXEC, where.protocol);
  if (opened < 0)
    Refuse(absl::ResourceExhaustedError(absl::StrCat("no socket: ", strerror(errno))));
  return opened;
}

size_t PageTransfer::Refuse(absl::Status fault) {
  if (refused_.ok()) refused_ = std::move(fault);
  return 0;  // fewer than there are: libcurl ends the transfer
}

absl::Status PageTransfer::At(const absl::Status& fault) const {
  return {fault.code(), absl::StrCat(request_.Place(), ": ", fault.message())};
}

size_t PageTransfer::OnHeader(char* bytes, size_t one, size_t count, void* transfer) {
  return static_cast<PageTransfer*>(transfer)->TakeHeader({bytes, one * count});
}

size_t PageTransfer::OnBody(char* bytes, size_t one, size_t count, void* transfer) {
  return static_cast<PageTransfer*>(transfer)->TakeBody({bytes, one * count});
}

curl_socket_t PageTransfer::OnOpen(void* transfer, curlsocktype, curl_sockaddr* where) {
  return static_cast<PageTransfer*>(transfer)->OpenSocket(*where);
}

}  // namespace gpuscaler
