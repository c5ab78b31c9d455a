#include "page/test_http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gpuscaler {
namespace {

constexpr size_t kMaxHeadBytes = size_t{64} << 10;

int Listen(const std::string& address, int wanted_port, int* port) {
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(wanted_port))};
  inet_pton(AF_INET, address.c_str(), &at.sin_addr);
  if (bind(listening, reinterpret_cast<sockaddr*>(&at), sizeof(at)) != 0) std::abort();
  listen(listening, 1024);
  socklen_t size = sizeof(at);
  getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size);
  *port = ntohs(at.sin_port);
  return listening;
}

// OpenSSL uses write(2): a connection closed by its peer would end the process with SIGPIPE.
void BlockSigpipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

std::shared_ptr<BIO> Memory(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

std::shared_ptr<X509> Certificate(const std::string& pem) {
  return {PEM_read_bio_X509(Memory(pem).get(), nullptr, nullptr, nullptr), X509_free};
}

std::shared_ptr<SSL_CTX> TlsOf(const TestCertificate& pair, const std::string& client_ca) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const std::shared_ptr<X509> cert = Certificate(pair.cert);
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(Memory(pair.key).get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  SSL_CTX_use_certificate(context.get(), cert.get());
  SSL_CTX_use_PrivateKey(context.get(), key.get());
  if (!client_ca.empty()) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), Certificate(client_ca).get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

}  // namespace

TestHttpConnection::TestHttpConnection(int socket, SSL_CTX* tls) : socket_(socket) {
  if (tls == nullptr) return;
  tls_.reset(SSL_new(tls), SSL_free);
  SSL_set_fd(tls_.get(), socket_);
}

bool TestHttpConnection::Handshake() { return tls_ == nullptr || SSL_accept(tls_.get()) == 1; }

std::string TestHttpConnection::ReadRequest() {
  std::string head;
  char byte = 0;
  while (head.size() < kMaxHeadBytes && !absl::EndsWith(head, "\r\n\r\n")) {
    const auto got = tls_ == nullptr ? recv(socket_, &byte, 1, 0) : SSL_read(tls_.get(), &byte, 1);
    if (got != 1) return "";
    head += byte;
  }
  return head;
}

bool TestHttpConnection::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = tls_ == nullptr
                          ? send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                          : SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void TestHttpConnection::Hang() {
  char ignored[256];
  while (recv(socket_, ignored, sizeof(ignored), 0) > 0) {
  }
}

TestHttpServer::TestHttpServer(Handler handler, const TestCertificate* tls,
                               const std::string& address, const std::string& client_ca, int port)
    : handler_(std::move(handler)),
      tls_(tls == nullptr ? nullptr : TlsOf(*tls, client_ca)),
      listening_(Listen(address, port, &port_)),
      accepting_([this] { Accept(); }) {}

TestHttpServer::~TestHttpServer() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    shutdown(listening_, SHUT_RDWR);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  accepting_.join();
  close(listening_);
  MutexLock lock(mutex_);
  while (!sockets_.empty()) closed_.Wait(mutex_);
}

int TestHttpServer::connections() const {
  MutexLock lock(mutex_);
  return connections_;
}

int TestHttpServer::open() const {
  MutexLock lock(mutex_);
  return static_cast<int>(sockets_.size());
}

void TestHttpServer::Accept() {
  while (true) {
    const int socket = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    MutexLock lock(mutex_);
    if (stopping_) {
      close(socket);
      return;
    }
    sockets_.insert(socket);
    ++connections_;
    std::thread([this, socket] { Serve(socket); }).detach();
  }
}

void TestHttpServer::Serve(int socket) {
  BlockSigpipe();
  {
    TestHttpConnection connection(socket, tls_.get());
    if (connection.Handshake()) handler_(connection);
  }
  // The thread is detached, so OpenSSL's data for it would be a leak if the process ends first.
  OPENSSL_thread_stop();
  MutexLock lock(mutex_);
  sockets_.erase(socket);
  close(socket);
  closed_.NotifyAll();
}

std::string Answer(absl::string_view body, absl::string_view content_type) {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Type: ", content_type,
                      "\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

std::string EmptyAnswer(int status, absl::string_view headers) {
  return absl::StrCat("HTTP/1.1 ", status, " Some Words\r\nContent-Length: 0\r\n", headers, "\r\n");
}

TestHttpServer::Handler Serving(std::function<std::string(absl::string_view path)> page) {
  return [page = std::move(page)](TestHttpConnection& connection) {
    while (true) {
      const std::string head = connection.ReadRequest();
      const std::vector<absl::string_view> words = absl::StrSplit(head, ' ');
      if (words.size() < 2 || !connection.Send(page(words[1]))) return;
    }
  };
}

TestHttpServer::Handler SendingAndHanging(std::string bytes) {
  return [bytes = std::move(bytes)](TestHttpConnection& connection) {
    connection.Send(bytes);
    connection.Hang();
  };
}

TestHttpServer::Handler SendingAndClosing(std::string bytes) {
  return [bytes = std::move(bytes)](TestHttpConnection& connection) {
    if (!connection.ReadRequest().empty()) connection.Send(bytes);
  };
}

}  // namespace gpuscaler
