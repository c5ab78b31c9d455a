#include "wire/wire_server.h"

#include <arpa/inet.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bound_port.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/open_files.h"
#include "base/rate_limit.h"
#include "base/status_macros.h"
#include "base/thread_cpu_time.h"
#include "wire/tls_messages.h"
#include "wire/tls_pem.h"
#include "wire/unix_listener.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kUnix = "unix:";
constexpr absl::Duration kTickInterval = absl::Seconds(1);
// Connections that end free descriptors. New ones wait in the backlog until then.
constexpr absl::Duration kAcceptRetryDelay = absl::Milliseconds(100);
// After this many connections the loop serves others for a while, so that a flood takes only a part
// of its time.
constexpr int kAcceptedAtOnce = 64;
constexpr absl::Duration kAcceptPause = absl::Milliseconds(1);
// A client that acknowledges no TCP segment for this long is disconnected.
constexpr absl::Duration kUserTimeout = absl::Seconds(20);

using TlsContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

int ChooseHttp2(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                const unsigned char* offered, unsigned offered_size, void*) {
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  const int result = SSL_select_next_proto(const_cast<unsigned char**>(chosen), chosen_size, kHttp2,
                                           sizeof(kHttp2), offered, offered_size);
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

absl::StatusOr<TlsContext> ContextOf(const TlsPems& tls) {
  TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Resumed sessions would outlive the authorities that their certificates were checked against.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  LimitTlsMessages(context.get());
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);  // 34 KiB per idle connection
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseHttp2, nullptr);
  RETURN_IF_ERROR(UseCertificate(context.get(), tls.cert, tls.key));
  if (!tls.ca.empty()) {
    RETURN_IF_ERROR(TrustAuthorities(context.get(), tls.ca, "CA of clients"));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

std::string AddressOf(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text,
              sizeof(text));
  } else if (address->sa_family == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6))
      inet_ntop(AF_INET, &v6.s6_addr[12], text, sizeof(text));
    else
      inet_ntop(AF_INET6, &v6, text, sizeof(text));
  } else {
    return "unix";
  }
  return text;
}

// libevent aborts the process if it cannot open the descriptors of its loop, so a server does not
// start without them.
bool HasFreeDescriptors() {
  constexpr size_t kOfLoop = 8;
  std::array<int, kOfLoop> probes;
  for (int& each : probes) each = eventfd(0, EFD_CLOEXEC);
  for (const int each : probes) {
    if (each >= 0) close(each);
  }
  return std::ranges::all_of(probes, [](int each) { return each >= 0; });
}

void SetSocketOptions(int connection) {
  const int on = 1, milliseconds = static_cast<int>(absl::ToInt64Milliseconds(kUserTimeout));
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

}  // namespace

// Members are used on the loop's thread only, except atomics, the logs, what mutex_ guards, and
// what Start() sets before the loop listens.
class WireServer::Impl {
 public:
  Impl(WireServerOptions options, Methods methods)
      : options_(std::move(options)),
        methods_(std::move(methods)),
        context_(methods_, options_.session, clock_, limit_log_, loop_) {
    context_.make_room_for_stream = [this](const ServerSession& session) {
      return MakeRoomForStream(session);
    };
  }

  ~Impl() { Drain(absl::ZeroDuration()); }

  absl::Status Start() {
    if (options_.tls.has_value()) RETURN_IF_ERROR(SetTls(*options_.tls));
    ASSIGN_OR_RETURN(const int listening, Open());
    loop_.Post([this, listening] { Listen(listening); });
    return absl::OkStatus();
  }

  int port() const { return port_; }

  WireServerCounts counts() const {
    WireServerCounts counts{.connections = open_, .limits = limit_log_.counts(), .handshakes = {}};
    for (size_t i = 0; i < counts.handshakes.size(); ++i) counts.handshakes[i] = refused_[i];
    return counts;
  }

  absl::Status SetTls(const TlsPems& tls) {
    if (!options_.tls.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(TlsContext context, ContextOf(tls));
    MutexLock lock(mutex_);
    tls_ = std::move(context);
    return absl::OkStatus();
  }

  void Drain(absl::Duration timeout) {
    if (is_drained_.exchange(true)) return;
    loop_.Post([this] {
      listener_ = nullptr;
      unix_listener_ = nullptr;
      is_draining_ = true;
      CloseAll(&ServerSession::BeginGracefulShutdown);
      SignalIfGone();
    });
    {
      const absl::Time until = SteadyNow() + timeout;
      MutexLock lock(mutex_);
      while (!are_all_gone_ && SteadyNow() < until) {
        gone_.WaitFor(mutex_, until - SteadyNow());
      }
    }
    loop_.Post([this] {
      CloseAll(&ServerSession::CloseNow);
      tick_ = nullptr;
      retry_ = nullptr;
    });
    loop_.Stop();
  }

 private:
  struct Connection {
    std::unique_ptr<ServerSession> session;
    AddressContext& address;
    std::string peer;
    absl::Time ends_at;
    bool is_shutting_down = false;
  };
  using Connections = std::list<Connection>;

  // Returns a socket that listens.
  absl::StatusOr<int> Open() {
    if (absl::StartsWith(options_.bind_address, kUnix)) {
      ASSIGN_OR_RETURN(unix_listener_,
                       UnixListener::Open(options_.bind_address.substr(kUnix.size())));
      return unix_listener_->TakeSocket();
    }
    ASSIGN_OR_RETURN(BoundPort bound, BoundPort::Open(options_.bind_address, options_.port));
    port_ = bound.port();
    return std::move(bound).Listen();
  }

  void Listen(int listening) {
    listener_.reset(evconnlistener_new(
        loop_.base(),
        [](evconnlistener*, int connection, sockaddr* address, int, void* impl) {
          static_cast<Impl*>(impl)->Accept(connection, address);
        },
        this, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, listening));
    // accept() has failed: connections stay in the backlog for the moment.
    evconnlistener_set_error_cb(listener_.get(), [](evconnlistener*, void* impl) {
      static_cast<Impl*>(impl)->PauseAccepting(EVUTIL_SOCKET_ERROR(), "");
    });
    retry_ = NewEvent<&Impl::ResumeAccepting>(loop_, this);
    tick_ = NewEvent<&Impl::Tick>(loop_, this, -1, EV_PERSIST);
    SetTimer(tick_, kTickInterval);
  }

  // Spare descriptors have the highest numbers, because the kernel gives the lowest free one.
  bool IsSpare(int descriptor) const {
    const size_t most = MostOpenFiles();
    const size_t spare = most / 8 + std::min(options_.spare_descriptors, most / 8);
    return static_cast<size_t>(descriptor) >= most - spare;
  }

  void PauseAccepting(int error, absl::string_view peer) {
    if (error == EMFILE || error == ENFILE) limit_log_.Add(Limit::kDescriptors, peer);
    if (const auto dropped = pause_log_.Pass()) {
      LogWarn("accept_failed", {{"why", std::strerror(error)},
                                {"consequence", "new connections wait"},
                                {"dropped", *dropped}});
    }
    ResumeAfter(kAcceptRetryDelay);
  }

  // libevent's listener accepts until none waits, or until it is disabled.
  void ResumeAfter(absl::Duration pause) {
    evconnlistener_disable(listener_.get());
    SetTimer(retry_, pause);
  }

  void ResumeAccepting() {
    if (listener_ == nullptr) return;
    const int probe = fcntl(evconnlistener_get_fd(listener_.get()), F_DUPFD_CLOEXEC, 0);
    const bool is_short = probe < 0 || IsSpare(probe);
    if (probe >= 0) close(probe);
    if (is_short) return ResumeAfter(kAcceptRetryDelay);
    evconnlistener_enable(listener_.get());
  }

  // Returns the limit that a new connection would exceed.
  std::optional<Limit> LimitOf(const AddressContext& address) const {
    if (address.connections >= options_.connections_per_address) {
      return Limit::kConnectionsPerAddress;
    }
    if (address.handshakes >= options_.handshakes_per_address) return Limit::kHandshakesPerAddress;
    if (connections_.size() >= options_.connections) return Limit::kConnections;
    return std::nullopt;
  }

  // Returns the address with the most connections, or streams.
  const AddressContext& AddressWithMost(size_t AddressContext::*count) const {
    return std::ranges::max_element(addresses_, {},
                                    [count](const auto& each) { return each.second.*count; })
        ->second;
  }

  // Closes the newest connection of the address with the most, so that a few addresses cannot hold
  // all. Returns false if `address` would then have more than that one.
  bool MakeRoomForConnection(AddressContext& address) {
    const AddressContext& most = AddressWithMost(&AddressContext::connections);
    if (most.connections <= address.connections + 1) return false;
    const auto newest =
        std::ranges::find_if(connections_.rbegin(), connections_.rend(),
                             [&](const Connection& each) { return &each.address == &most; });
    limit_log_.Add(Limit::kConnections, newest->peer);
    CloseFor(address, *newest);
    return true;
  }

  // Implements ServerContext::make_room_for_stream. Closes a whole connection, because a refused
  // stream takes memory until the client reads its status.
  bool MakeRoomForStream(const ServerSession& session) {
    const AddressContext& own = session.address_context();
    const bool is_of_address = own.streams > context_.limits.streams_per_address;
    const AddressContext& most = is_of_address ? own : AddressWithMost(&AddressContext::streams);
    if (!is_of_address && most.streams <= own.streams) return false;
    // Clients may share an address: one that reads has no refused streams for long.
    const auto count = is_of_address ? &ServerSession::refused_streams : &ServerSession::streams;
    const auto count_of = [&](const Connection& each) {
      return &each.address == &most ? (*each.session.*count)() : 0;
    };
    const Connection& largest = *std::ranges::max_element(connections_, {}, count_of);
    if (count_of(largest) == 0 || largest.session.get() == &session) return false;
    limit_log_.Add(is_of_address ? Limit::kStreamsPerAddress : Limit::kStreams, largest.peer);
    CloseFor(session.address_context(), largest);
    return true;
  }

  // Closes a connection to make room for another address. Its own address pays, not the other one,
  // which is charged for the present callback.
  void CloseFor(AddressContext& other, const Connection& connection) {
    AddressContext& own = connection.address;  // is kept after its last connection
    const absl::Duration began = ThreadCpuTime();
    connection.session->CloseNow();
    const double seconds = absl::ToDoubleSeconds(ThreadCpuTime() - began);
    own.loop_seconds.Charge(clock_.Now(), seconds);
    other.loop_seconds.Charge(clock_.Now(), -seconds);
  }

  void Accept(int connection, const sockaddr* address) {
    if (++accepted_ % kAcceptedAtOnce == 0) ResumeAfter(kAcceptPause);
    const absl::Duration began = ThreadCpuTime();
    std::string peer = AddressOf(address);
    if (IsSpare(connection)) {
      close(connection);
      return PauseAccepting(EMFILE, peer);
    }
    AddressContext& shared = addresses_.try_emplace(peer, context_).first->second;
    const std::optional<Limit> limit = LimitOf(shared);
    if (limit.has_value() && (limit != Limit::kConnections || !MakeRoomForConnection(shared))) {
      limit_log_.Add(*limit, peer);
      close(connection);
      if (shared.IsForgettable(clock_.Now())) addresses_.erase(peer);
      return;
    }
    if (unix_listener_ == nullptr) SetSocketOptions(connection);
    bufferevent* const buffered = Buffered(connection);
    if (buffered == nullptr) {
      close(connection);
      return;
    }
    ++shared.connections;
    const auto place = connections_.insert(
        connections_.end(),
        {.session = nullptr,
         .address = shared,
         .peer = peer,
         .ends_at = clock_.Now() + options_.connection_age * options_.age_jitter()});
    ++open_;
    place->session =
        std::make_unique<ServerSession>(buffered, std::move(peer), context_, shared,
                                        [this, place](ServerSession*) { Remove(place); });
    shared.loop_seconds.Charge(clock_.Now(), absl::ToDoubleSeconds(ThreadCpuTime() - began));
  }

  bufferevent* Buffered(int connection) {
    const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
    MutexLock lock(mutex_);
    if (tls_ == nullptr) return bufferevent_socket_new(loop_.base(), connection, options);
    SSL* const tls = SSL_new(tls_.get());
    return tls == nullptr ? nullptr
                          : bufferevent_openssl_socket_new(loop_.base(), connection, tls,
                                                           BUFFEREVENT_SSL_ACCEPTING, options);
  }

  void Remove(Connections::iterator place) {
    CountFault(*place);
    place->session = nullptr;
    --place->address.connections;
    connections_.erase(place);
    --open_;
    SignalIfGone();
  }

  void CountFault(const Connection& connection) {
    const unsigned long error = connection.session->tls_error();
    if (error == 0) return;
    const HandshakeFault fault = FaultOfTlsError(error);
    ++refused_[static_cast<size_t>(fault)];
    CountHandshakeFault(fault);
    handshake_log_.Write(fault, absl::StrCat(connection.peer, ": ", TextOfTlsError(error)));
  }

  void SignalIfGone() {
    if (!is_draining_ || !connections_.empty()) return;
    MutexLock lock(mutex_);
    are_all_gone_ = true;
    gone_.NotifyAll();
  }

  void CloseAll(void (ServerSession::*close)()) {
    for (auto next = connections_.begin(); next != connections_.end();) {
      (next++->session.get()->*close)();
    }
  }

  void Tick() {
    const absl::Time now = clock_.Now();
    for (auto next = connections_.begin(); next != connections_.end();) {
      Connection& each = *next++;
      if (now >= each.ends_at + options_.connection_age_grace) {
        each.session->CloseNow();
      } else if (now >= each.ends_at && !std::exchange(each.is_shutting_down, true)) {
        each.session->BeginGracefulShutdown();
      } else {
        each.session->Tick();
      }
    }
    // An address is kept until its token buckets are full again.
    for (auto next = addresses_.begin(); next != addresses_.end();) {
      const auto each = next++;
      if (each->second.IsForgettable(now)) addresses_.erase(each);
    }
  }

  const WireServerOptions options_;
  const Methods methods_;
  int port_ = 0;
  std::atomic<bool> is_drained_ = false;
  const SteadyClock clock_;
  LimitLog limit_log_{clock_};
  HandshakeLog handshake_log_{clock_};
  RateLimit pause_log_{clock_, 1, absl::Minutes(1)};
  std::atomic<size_t> open_ = 0;
  std::array<std::atomic<int64_t>, kHandshakeFaultCount> refused_ = {};
  EventLoop loop_;
  ServerContext context_;
  std::unique_ptr<UnixListener> unix_listener_;  // null for an address
  std::unique_ptr<evconnlistener, FreeEvents> listener_;
  OwnedEvent tick_;
  OwnedEvent retry_;
  unsigned accepted_ = 0;
  std::map<std::string, AddressContext> addresses_;
  Connections connections_;
  bool is_draining_ = false;
  Mutex mutex_;
  CondVar gone_;
  bool are_all_gone_ ABSL_GUARDED_BY(mutex_) = false;
  TlsContext tls_ ABSL_GUARDED_BY(mutex_) = {nullptr, SSL_CTX_free};
};

absl::StatusOr<std::unique_ptr<WireServer>> WireServer::Start(WireServerOptions options,
                                                              Methods methods) {
  if (!HasFreeDescriptors()) {
    return absl::UnavailableError("no file descriptors are left for the gRPC server");
  }
  auto impl = std::make_unique<Impl>(std::move(options), std::move(methods));
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<WireServer>(new WireServer(std::move(impl)));
}

WireServer::WireServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WireServer::~WireServer() = default;
int WireServer::port() const { return impl_->port(); }
absl::Status WireServer::SetTls(const TlsPems& tls) { return impl_->SetTls(tls); }
WireServerCounts WireServer::counts() const { return impl_->counts(); }
void WireServer::Drain(absl::Duration timeout) { impl_->Drain(timeout); }

}  // namespace gpuscaler
