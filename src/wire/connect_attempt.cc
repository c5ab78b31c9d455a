#include "wire/connect_attempt.h"

#include <event2/bufferevent_ssl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "base/resolve.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kUnixPrefix = "unix:";
// An address that does not answer must leave time for the next one within a short deadline.
constexpr absl::Duration kNotLast = absl::Seconds(2);
constexpr size_t kMaxReasons = 4;
// The kernel would resend for 15 minutes to a server that has gone.
constexpr int kUnacknowledgedMilliseconds = 20'000;

// "host:port", "[v6]:port".
bool SplitHostPort(const std::string& address, std::string& host, std::string& port) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  int number = 0;
  if (!absl::SimpleAtoi(address.substr(colon + 1), &number) || number < 1 || number > 65'535) {
    return false;
  }
  host = address.substr(0, colon);
  port = address.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    return true;
  }
  return !host.empty() && host.find(':') == std::string::npos;
}

}  // namespace

// Shared with the thread that resolves, which nothing can interrupt.
struct ConnectAttempt::Lookup {
  Lookup() : finished(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Lookup() {
    if (finished >= 0) close(finished);
  }

  const int finished;
  Mutex mutex;
  absl::StatusOr<std::vector<std::string>> addresses ABSL_GUARDED_BY(mutex) =
      std::vector<std::string>();
};

ConnectAttempt::ConnectAttempt(EventLoop& loop, const Target& target, Done done)
    : loop_(loop), target_(target), done_(std::move(done)) {}

ConnectAttempt::~ConnectAttempt() {
  event_ = nullptr;
  if (socket_ >= 0) close(socket_);
}

void ConnectAttempt::Start() {
  if (target_.tls != nullptr) {
    auto context = target_.tls();
    if (!context.ok()) return Fail(context.status());
    context_ = *std::move(context);
  }
  if (absl::StartsWith(target_.address, kUnixPrefix)) {
    return StartUnix(target_.address.substr(kUnixPrefix.size()));
  }
  if (!SplitHostPort(target_.address, host_, port_)) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat(target_.address, ": is not host:port, [IPv6 address]:port or unix:/path")));
  }
  auto address = AddressOf(host_, port_);
  if (!address) return StartLookup();
  addresses_.push_back(*std::move(address));
  TryNext();
}

void ConnectAttempt::StartUnix(const std::string& path) {
  Address address;
  sockaddr_un unix_address = {.sun_family = AF_UNIX};
  if (path.size() >= sizeof(unix_address.sun_path)) {
    fault_.system_error = ENAMETOOLONG;
    reasons_.push_back(std::strerror(ENAMETOOLONG));
    return TryNext();
  }
  path.copy(unix_address.sun_path, path.size());
  address.size = sizeof(unix_address);
  std::memcpy(&address.socket, &unix_address, sizeof(unix_address));
  addresses_.push_back(std::move(address));
  TryNext();
}

std::optional<ConnectAttempt::Address> ConnectAttempt::AddressOf(const std::string& text,
                                                                 const std::string& port) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(text.c_str(), port.c_str(), &hints, &found) != 0) return std::nullopt;
  Address address{.size = found->ai_addrlen, .text = text};
  std::memcpy(&address.socket, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

void ConnectAttempt::StartLookup() {
  lookup_ = std::make_shared<Lookup>();
  if (lookup_->finished < 0) {
    return Fail(absl::UnavailableError(
        absl::StrCat("cannot connect to ", target_.address, ": ", std::strerror(errno))));
  }
  event_ = NewEvent<&ConnectAttempt::OnLookup>(loop_, this, lookup_->finished, EV_READ);
  event_add(event_.get(), nullptr);
  try {
    std::thread([lookup = lookup_, host = host_] {
      auto addresses = AddressesOf(host);
      {
        MutexLock lock(lookup->mutex);
        lookup->addresses = std::move(addresses);
      }
      eventfd_write(lookup->finished, 1);
    }).detach();
  } catch (const std::system_error& error) {  // such as the pids limit of a container
    Fail(absl::UnavailableError(
        absl::StrCat("cannot connect to ", target_.address,
                     ": no thread can resolve the name: ", error.code().message())));
  }
}

void ConnectAttempt::OnLookup() {
  absl::StatusOr<std::vector<std::string>> addresses;
  {
    MutexLock lock(lookup_->mutex);
    addresses = std::move(lookup_->addresses);
  }
  event_ = nullptr;
  lookup_ = nullptr;
  if (!addresses.ok()) {
    return Fail(absl::UnavailableError(
        absl::StrCat("cannot connect to ", target_.address, ": ", addresses.status().message())));
  }
  for (const std::string& text : *addresses) {
    if (auto address = AddressOf(text, port_)) addresses_.push_back(*std::move(address));
  }
  if (addresses_.empty()) reasons_.push_back("the name has no address");
  TryNext();
}

void ConnectAttempt::TryNext() {
  event_ = nullptr;
  if (next_ == addresses_.size()) {
    return Fail(absl::UnavailableError(
        absl::StrCat("cannot connect to ", target_.address, ": ", absl::StrJoin(reasons_, "; "))));
  }
  const Address& address = addresses_[next_++];
  const absl::Duration timeout = next_ == addresses_.size()
                                     ? target_.connect_timeout
                                     : std::min(kNotLast, target_.connect_timeout);
  until_ = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(timeout);
  socket_ = socket(address.socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return FailAddress(std::strerror(errno), {.system_error = errno});
  if (address.socket.ss_family != AF_UNIX) {
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMilliseconds,
               sizeof(kUnacknowledgedMilliseconds));
  }
  if (!target_.source_address.empty()) {
    const auto source = AddressOf(target_.source_address, "0");
    if (!source) return FailAddress(target_.source_address + " is no address", {});
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&source->socket), source->size) != 0) {
      return FailAddress(absl::StrCat(source->text, ": ", std::strerror(errno)),
                         {.system_error = errno});
    }
  }
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address.socket), address.size) == 0) {
    return OnConnected();
  }
  if (errno != EINPROGRESS) return FailAddress(std::strerror(errno), {.system_error = errno});
  Wait(EV_WRITE, &ConnectAttempt::OnConnected);
}

void ConnectAttempt::Wait(short what, void (ConnectAttempt::*then)()) {
  then_ = then;
  event_.reset(event_new(
      loop_.base(), socket_, what,
      [](int, short happened, void* data) {
        ConnectAttempt& attempt = *static_cast<ConnectAttempt*>(data);
        if ((happened & EV_TIMEOUT) == 0) return (attempt.*attempt.then_)();
        attempt.FailAddress(
            attempt.tls_ == nullptr ? "no answer" : "no answer to the TLS handshake",
            {.system_error = ETIMEDOUT});
      },
      this));
  SetTimer(event_, absl::FromChrono(until_ - std::chrono::steady_clock::now()));
}

void ConnectAttempt::OnConnected() {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return FailAddress(std::strerror(error), {.system_error = error});
  if (target_.tls == nullptr) return Connected();
  tls_ = ClientTlsOf(context_.get(), target_.server_name.empty() ? host_ : target_.server_name);
  SSL_set_fd(tls_.get(), socket_);
  Handshake();
}

void ConnectAttempt::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_.get());
  const int system_error = errno;
  const int error = SSL_get_error(tls_.get(), result);
  if (error == SSL_ERROR_WANT_READ) return Wait(EV_READ, &ConnectAttempt::Handshake);
  if (error == SSL_ERROR_WANT_WRITE) return Wait(EV_WRITE, &ConnectAttempt::Handshake);
  if (result != 1) {
    const unsigned long reason = ERR_peek_last_error();
    TlsFault fault = TlsFaultOf(tls_.get(), reason);
    if (reason == 0 && error == SSL_ERROR_SYSCALL && system_error != 0) {
      fault.text = std::strerror(system_error);
    }
    ERR_clear_error();
    return FailAddress(absl::StrCat("TLS handshake: ", fault.text), {.handshake = fault.fault});
  }
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(tls_.get(), &protocol, &size);
  if (absl::string_view(reinterpret_cast<const char*>(protocol), size) != "h2") {
    return FailAddress("TLS handshake: the server does not offer HTTP/2",
                       {.handshake = HandshakeFault::kOther});
  }
  if (target_.on_certificate != nullptr) target_.on_certificate(DnsNamesOf(tls_.get()));
  Connected();
}

void ConnectAttempt::Connected() {
  event_ = nullptr;
  const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
  const int socket = std::exchange(socket_, -1);
  Connection connection(tls_ == nullptr
                            ? bufferevent_socket_new(loop_.base(), socket, options)
                            : bufferevent_openssl_socket_new(loop_.base(), socket, tls_.release(),
                                                             BUFFEREVENT_SSL_OPEN, options));
  if (target_.tls != nullptr) bufferevent_openssl_set_allow_dirty_shutdown(connection.get(), 1);
  const Done done = done_;  // which goes with the attempt
  done(std::move(connection), {});
}

void ConnectAttempt::FailAddress(const std::string& why, ConnectFault fault) {
  const Address& address = addresses_[next_ - 1];
  if (reasons_.size() < kMaxReasons) {
    reasons_.push_back(address.text.empty() || address.text == host_
                           ? why
                           : absl::StrCat(address.text, ": ", why));
  }
  fault_ = fault;
  event_ = nullptr;
  tls_ = nullptr;
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  TryNext();
}

void ConnectAttempt::Fail(const absl::Status& status) {
  event_ = nullptr;
  const Done done = done_;  // which goes with the attempt
  const ConnectFault fault = fault_;
  done(status, fault);
}

}  // namespace gpuscaler
