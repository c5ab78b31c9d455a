#include "name_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// RFC 1035, 4.1: a header of 12 bytes, then the question: labels, type, class.
constexpr size_t kHeader = 12;
constexpr char kTypeA = 1;
constexpr char kServerFailure = 2;
constexpr char kNoSuchName = 3;

size_t EndOfQuestion(const std::string& question) {
  const size_t name_end = question.find('\0', kHeader);
  return name_end == std::string::npos ? std::string::npos : name_end + 5;
}

// The name of the question, IPv4, Internet, to be kept for 0 s.
std::string Record(const std::string& address) {
  in_addr figures = {};
  inet_pton(AF_INET, address.c_str(), &figures);
  std::string record("\xc0\x0c\0\1\0\1\0\0\0\0\0\4", 12);
  record.append(reinterpret_cast<const char*>(&figures), sizeof(figures));
  return record;
}

}  // namespace

NameServer::NameServer(std::vector<std::string> addresses) : addresses_(std::move(addresses)) {
  socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const timeval patience = {.tv_usec = 100'000};  // until the end is noticed
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  thread_ = std::thread([this] { Serve(); });
}

NameServer::~NameServer() {
  stopping_ = true;
  thread_.join();
  close(socket_);
}

void NameServer::Say(std::vector<std::string> addresses) {
  MutexLock lock(mutex_);
  addresses_ = std::move(addresses);
  fails_ = false;
  asked_ = 0;
}

void NameServer::Fail() {
  MutexLock lock(mutex_);
  fails_ = true;
  asked_ = 0;
}

int NameServer::asked() const {
  MutexLock lock(mutex_);
  return asked_;
}

void NameServer::Serve() {
  std::string packet(512, '\0');
  while (!stopping_) {
    sockaddr_in from = {};
    socklen_t size = sizeof(from);
    auto* const whose = reinterpret_cast<sockaddr*>(&from);
    const ssize_t got = recvfrom(socket_, packet.data(), packet.size(), 0, whose, &size);
    if (got <= 0) continue;
    const std::string reply = Reply(packet.substr(0, static_cast<size_t>(got)));
    sendto(socket_, reply.data(), reply.size(), 0, whose, size);
  }
}

std::string NameServer::Reply(const std::string& question) {
  const size_t end = EndOfQuestion(question);
  if (end > question.size()) return "";
  MutexLock lock(mutex_);
  const bool ipv4 = question[end - 3] == kTypeA;
  const size_t answers = ipv4 && !fails_ ? addresses_.size() : 0;
  const char code = fails_ ? kServerFailure : addresses_.empty() ? kNoSuchName : '\0';
  std::string reply = question.substr(0, end);
  reply[2] = '\x85';  // a reply, authoritative, recursion desired
  reply[3] = static_cast<char>(0x80 | code);
  reply[6] = '\0';
  reply[7] = static_cast<char>(answers);
  reply.replace(8, 4, 4, '\0');
  for (size_t i = 0; i < answers; ++i) reply += Record(addresses_[i]);
  asked_ += ipv4 ? 1 : 0;
  return reply;
}

}  // namespace gpuscaler
