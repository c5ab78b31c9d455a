#include "serve/test_http_client.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

std::shared_ptr<BIO> Memory(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

absl::Status OpenSslError(absl::string_view what) {
  const char* const reason = ERR_reason_error_string(ERR_get_error());
  return absl::UnavailableError(absl::StrCat(what, ": ", reason == nullptr ? "?" : reason));
}

// Blocks SIGPIPE, because OpenSSL writes without MSG_NOSIGNAL to connections that the server has
// closed. It does so in this thread and for one call, so that a server under test that raises
// SIGPIPE still fails.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec now = {};
    sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_, before_;
};

std::shared_ptr<SSL_CTX> NewContext(const TestTls& tls) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const std::shared_ptr<X509> ca(PEM_read_bio_X509(Memory(tls.ca).get(), nullptr, nullptr, nullptr),
                                 X509_free);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca.get());
  if (!tls.groups.empty()) {
    EXPECT_EQ(SSL_CTX_set1_groups_list(context.get(), tls.groups.c_str()), 1) << tls.groups;
  }
  if (tls.pair.cert.empty()) return context;
  const std::shared_ptr<X509> cert(
      PEM_read_bio_X509(Memory(tls.pair.cert).get(), nullptr, nullptr, nullptr), X509_free);
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(Memory(tls.pair.key).get(), nullptr, nullptr, nullptr),
      EVP_PKEY_free);
  SSL_CTX_use_certificate(context.get(), cert.get());
  SSL_CTX_use_PrivateKey(context.get(), key.get());
  return context;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TestHttpClient>> TestHttpClient::Open(int port, const TestTls* tls,
                                                                     const std::string& address) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &hints, &found) != 0) {
    return absl::InvalidArgumentError(address);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  const int opened = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;  // otherwise a request waits 40 ms for the handshake's acknowledgement
  setsockopt(opened, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  std::unique_ptr<TestHttpClient> connection(new TestHttpClient(opened));
  if (connect(opened, found->ai_addr, found->ai_addrlen) != 0) {
    return absl::ErrnoToStatus(errno, "connect");
  }
  if (tls != nullptr) RETURN_IF_ERROR(connection->Handshake(*tls));
  return connection;
}

TestHttpClient::~TestHttpClient() { close(socket_); }

absl::Status TestHttpClient::Handshake(const TestTls& tls) {
  const NoBrokenPipe quiet;
  tls_ = std::shared_ptr<SSL>(SSL_new(NewContext(tls).get()), SSL_free);
  SSL_set_fd(tls_.get(), socket_);
  if (SSL_connect(tls_.get()) == 1) return absl::OkStatus();
  return OpenSslError("handshake");
}

bool TestHttpClient::Send(absl::string_view bytes) {
  const NoBrokenPipe quiet;
  const int size = static_cast<int>(bytes.size());
  if (tls_ != nullptr) return SSL_write(tls_.get(), bytes.data(), size) == size;
  return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == size;
}

absl::StatusOr<std::string> TestHttpClient::ReadSome(absl::Duration timeout) {
  const NoBrokenPipe quiet;
  const timeval piece_timeout = absl::ToTimeval(timeout);
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &piece_timeout, sizeof(piece_timeout));
  std::string piece(size_t{64} << 10, '\0');
  errno = 0;
  const ssize_t size = tls_ != nullptr
                           ? SSL_read(tls_.get(), piece.data(), static_cast<int>(piece.size()))
                           : recv(socket_, piece.data(), piece.size(), 0);
  if (size > 0) {
    piece.resize(static_cast<size_t>(size));
    return piece;
  }
  if (errno == EAGAIN) return absl::DeadlineExceededError("no bytes");
  const bool ended =
      tls_ == nullptr || SSL_get_error(tls_.get(), static_cast<int>(size)) != SSL_ERROR_SSL;
  if (!ended) return OpenSslError("read");
  return "";
}

absl::StatusOr<std::string> TestHttpClient::ReadAll(absl::Duration timeout) {
  std::string all;
  while (true) {
    const absl::StatusOr<std::string> piece = ReadSome(timeout);
    if (absl::IsDeadlineExceeded(piece.status())) {
      return absl::DeadlineExceededError(absl::StrCat("after: ", all));
    }
    RETURN_IF_ERROR(piece.status());
    if (piece->empty()) return all;
    all += *piece;
  }
}

absl::StatusOr<TestReply> Request(int port, absl::string_view method, absl::string_view path,
                                  const TestTls* tls, const std::string& address) {
  ASSIGN_OR_RETURN(const auto connection, TestHttpClient::Open(port, tls, address));
  connection->Send(absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSIGN_OR_RETURN(const std::string all, connection->ReadAll());
  const size_t head_end = all.find("\r\n\r\n");
  TestReply reply;
  const bool http = head_end != std::string::npos && all.size() > 12 &&
                    absl::SimpleAtoi(absl::string_view(all).substr(9, 3), &reply.status);
  if (!http) return absl::UnavailableError(absl::StrCat("no HTTP reply but \"", all, "\""));
  reply.head = all.substr(0, head_end + 2);
  reply.body = all.substr(head_end + 4);
  return reply;
}

}  // namespace gpuscaler
