#include "simulate/curl_sender.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/poll_timeout.h"
#include "base/status_macros.h"
#include "page/curl_easy.h"

namespace gpuscaler {
namespace {

// More than the requests in flight, so that no connection is closed between requests.
constexpr long kKeptConnections = 65536;

size_t Discard(char* /*data*/, size_t size, size_t count, void* /*unused*/) { return size * count; }

// There are few kinds because errors are counted by kind.
std::string ErrorKind(CURLcode code, CURL* request) {
  switch (code) {
    case CURLE_OK: {
      long status = 0;
      Curl().easy_getinfo(request, CURLINFO_RESPONSE_CODE, &status);
      return 200 <= status && status < 300 ? "" : absl::StrCat("HTTP ", status);
    }
    case CURLE_COULDNT_CONNECT:
      return "cannot connect";
    case CURLE_COULDNT_RESOLVE_HOST:
      return "cannot resolve the host";
    case CURLE_OPERATION_TIMEDOUT:
      return "timeout";
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
      return "connection lost";
    default:
      return Curl().easy_strerror(code);
  }
}

// libcurl reports which sockets to watch and when to call it again. The cost of poll() over all
// sockets would grow with the requests in flight.
class CurlSender final : public HttpSender {
 public:
  explicit CurlSender(HttpWork work);

  absl::Status Check() const { return NewRequest()->easy.status(); }
  ~CurlSender() override;

  void Send(int64_t id) override { SendTo(work_.url, id); }
  void SendTo(const std::string& url, int64_t id) override;
  std::vector<Answered> Wait(absl::Duration timeout) override;

 private:
  static int OnSocket(CURL* request, curl_socket_t socket, int what, void* self, void* known);
  static int OnTimer(CURLM* all, long milliseconds, void* self);

  // A handle that is reused for one request after another.
  struct Request {
    CurlEasy easy;
    int64_t id = 0;
  };

  std::unique_ptr<Request> NewRequest() const;
  int WaitForSockets(absl::Duration longest, std::span<epoll_event> events);
  void Act(curl_socket_t socket, int events);
  std::vector<Answered> Take();

  const HttpWork work_;
  const SteadyClock clock_;
  CURLM* const all_;
  CurlList headers_;
  const int epoll_;
  bool has_epoll_pwait2_ = true;  // epoll_pwait2() is available
  absl::Time timer_ = absl::InfiniteFuture();
  std::vector<std::unique_ptr<Request>> requests_;  // all
  std::vector<Request*> free_;
};

CurlSender::CurlSender(HttpWork work)
    : work_(std::move(work)), all_(Curl().multi_init()), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  headers_.Add("Content-Type: application/json");
  Curl().multi_setopt(all_, CURLMOPT_SOCKETFUNCTION, &CurlSender::OnSocket);
  Curl().multi_setopt(all_, CURLMOPT_SOCKETDATA, this);
  Curl().multi_setopt(all_, CURLMOPT_TIMERFUNCTION, &CurlSender::OnTimer);
  Curl().multi_setopt(all_, CURLMOPT_TIMERDATA, this);
  Curl().multi_setopt(all_, CURLMOPT_MAXCONNECTS, kKeptConnections);
}

CurlSender::~CurlSender() {
  for (const auto& request : requests_) {
    Curl().multi_remove_handle(all_, request->easy.get());
  }
  requests_.clear();
  Curl().multi_cleanup(all_);
  close(epoll_);
}

std::unique_ptr<CurlSender::Request> CurlSender::NewRequest() const {
  auto request = std::make_unique<Request>();
  CurlEasy& easy = request->easy;
  easy.Set(CURLOPT_HTTPHEADER, headers_);
  easy.Set(CURLOPT_POSTFIELDSIZE, static_cast<long>(work_.body.size()));
  easy.Set(CURLOPT_POSTFIELDS, work_.body);
  easy.Set(CURLOPT_WRITEFUNCTION, &Discard);
  easy.Set(CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(work_.timeout)));
  easy.Set(CURLOPT_PRIVATE, request.get());
  return request;
}

void CurlSender::SendTo(const std::string& url, int64_t id) {
  if (free_.empty()) {
    requests_.push_back(NewRequest());
    free_.push_back(requests_.back().get());
  }
  Request& request = *free_.back();
  free_.pop_back();
  request.id = id;
  request.easy.Set(CURLOPT_URL, url);
  Curl().multi_add_handle(all_, request.easy.get());
}

int CurlSender::OnSocket(CURL* /*request*/, curl_socket_t socket, int what, void* self,
                         void* /*unused*/) {
  const CurlSender& sender = *static_cast<CurlSender*>(self);
  epoll_event event = {};
  if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
  event.data.fd = socket;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(sender.epoll_, EPOLL_CTL_DEL, socket, nullptr);
  } else if (epoll_ctl(sender.epoll_, EPOLL_CTL_MOD, socket, &event) != 0) {
    epoll_ctl(sender.epoll_, EPOLL_CTL_ADD, socket, &event);  // not added yet
  }
  return 0;
}

int CurlSender::OnTimer(CURLM* /*all*/, long milliseconds, void* self) {
  CurlSender& sender = *static_cast<CurlSender*>(self);
  sender.timer_ = milliseconds < 0 ? absl::InfiniteFuture()
                                   : sender.clock_.Now() + absl::Milliseconds(milliseconds);
  return 0;
}

void CurlSender::Act(curl_socket_t socket, int events) {
  int running = 0;
  Curl().multi_socket_action(all_, socket, events, &running);
}

int CurlSender::WaitForSockets(absl::Duration longest, std::span<epoll_event> events) {
  const int most = static_cast<int>(events.size());
  if (has_epoll_pwait2_) {
    const timespec limit = absl::ToTimespec(longest);
    const int count = epoll_pwait2(epoll_, events.data(), most, &limit, nullptr);
    if (count >= 0 || errno != ENOSYS) return count;
    has_epoll_pwait2_ = false;  // Linux before 5.11
  }
  return epoll_wait(epoll_, events.data(), most, MillisecondsForPoll(longest));
}

std::vector<Answered> CurlSender::Wait(absl::Duration timeout) {
  std::array<epoll_event, 256> events;
  const absl::Duration longest = std::min(timeout, timer_ - clock_.Now());
  const int count = WaitForSockets(std::max(longest, absl::ZeroDuration()), events);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    int what = 0;
    if ((event.events & EPOLLIN) != 0) what |= CURL_CSELECT_IN;
    if ((event.events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
    if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR;
    Act(event.data.fd, what);
  }
  if (timer_ <= clock_.Now()) {
    timer_ = absl::InfiniteFuture();
    Act(CURL_SOCKET_TIMEOUT, 0);
  }
  return Take();
}

std::vector<Answered> CurlSender::Take() {
  std::vector<Answered> answers;
  int left = 0;
  while (const CURLMsg* message = Curl().multi_info_read(all_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const handle = message->easy_handle;
    const CURLcode code = message->data.result;  // the message is freed with the handle
    Request* request = nullptr;
    Curl().easy_getinfo(handle, CURLINFO_PRIVATE, &request);
    answers.push_back({.id = request->id, .error = ErrorKind(code, handle)});
    Curl().multi_remove_handle(all_, handle);
    free_.push_back(request);
  }
  return answers;
}

// Requires a host. libcurl checks the rest of the URL when it sends.
bool IsHttpUrl(absl::string_view text) {
  return (absl::ConsumePrefix(&text, "http://") || absl::ConsumePrefix(&text, "https://")) &&
         !text.empty() && text.front() != '/';
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpSender>> OpenCurlSender(const HttpWork& work) {
  if (!IsHttpUrl(work.url)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", work.url, "\": use a URL such as http://127.0.0.1:8000"));
  }
  RETURN_IF_ERROR(LoadCurl());
  auto sender = std::make_unique<CurlSender>(work);
  RETURN_IF_ERROR(sender->Check());
  return sender;
}

}  // namespace gpuscaler
