#include "name_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// RFC 1035, 4.1: a header of 12 bytes, then the question: labels, type, class.
constexpr size_t kHeader = 12;
constexpr size_t kRecordHeader = 12;        // before a record's data, with a pointer for its name
constexpr char kTypeA = 1, kTypeAaaa = 28;  // RFC 3596, 2.1

// RFC 1035, 4.1.1: the response codes.
char CodeOf(DnsReply reply) {
  switch (reply) {
    case DnsReply::kServerFailure:
      return 2;
    case DnsReply::kNoSuchName:
      return 3;
    case DnsReply::kRefused:
      return 5;
    default:
      return 0;
  }
}

size_t EndOfQuestion(const std::string& query) {
  const size_t name_end = query.find('\0', kHeader);
  return name_end == std::string::npos ? std::string::npos : name_end + 5;
}

// Returns the name in a whole query, such as "agents.gpu.svc".
std::string NameIn(const std::string& query) {
  std::string name;
  for (size_t at = kHeader; query[at] != '\0';) {
    const size_t length = static_cast<unsigned char>(query[at]);
    absl::StrAppend(&name, name.empty() ? "" : ".", query.substr(at + 1, length));
    at += 1 + length;
  }
  return name;
}

// A CNAME record for the question's name, class Internet, TTL 0.
std::string AliasRecord() {
  std::string target;
  for (const absl::string_view label : absl::StrSplit(kAliasTarget, '.')) {
    absl::StrAppend(&target, std::string(1, static_cast<char>(label.size())), label);
  }
  target.push_back('\0');
  std::string record("\xc0\x0c\0\5\0\1\0\0\0\0\0", 11);
  record.push_back(static_cast<char>(target.size()));
  return record + target;
}

// RFC 1035, 4.1.4: a pointer to the name at this byte of the reply.
std::string NameAt(size_t byte) {
  return {static_cast<char>(0xc0 | byte >> 8), static_cast<char>(byte & 0xff)};
}

bool IsIpv6(const std::string& address) { return address.find(':') != std::string::npos; }

// An A or AAAA record for the name at `owner`, class Internet, TTL 0.
std::string Record(size_t owner, const std::string& address) {
  std::string figures(IsIpv6(address) ? sizeof(in6_addr) : sizeof(in_addr), '\0');
  inet_pton(IsIpv6(address) ? AF_INET6 : AF_INET, address.c_str(), figures.data());
  std::string record = NameAt(owner) + std::string("\0\1\0\1\0\0\0\0\0", 9);
  if (IsIpv6(address)) record[3] = kTypeAaaa;
  record.push_back(static_cast<char>(figures.size()));
  return record + figures;
}

// A socket for queries over IPv4 and IPv6.
int BoundSocket(int type) {
  const int bound = socket(AF_INET6, type | SOCK_CLOEXEC, 0);
  const int reuse = 1;  // closed connections linger in TIME_WAIT
  setsockopt(bound, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  const sockaddr_in6 address = {
      .sin6_family = AF_INET6, .sin6_port = htons(53), .sin6_addr = in6addr_any};
  EXPECT_EQ(bind(bound, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return bound;
}

}  // namespace

NameServer::NameServer(std::vector<std::string> addresses)
    : socket_(BoundSocket(SOCK_DGRAM)), tcp_socket_(BoundSocket(SOCK_STREAM)) {
  SetAddresses(std::move(addresses));
  EXPECT_EQ(listen(tcp_socket_, SOMAXCONN), 0);
  thread_ = std::thread([this] { Serve(); });
}

NameServer::~NameServer() {
  stopping_ = true;
  thread_.join();
  close(tcp_socket_);
  close(socket_);
}

void NameServer::SetAddresses(std::vector<std::string> addresses) {
  MutexLock lock(mutex_);
  addresses_ = std::move(addresses);
  if (addresses_.empty()) {
    return SetReplies({.ipv4 = DnsReply::kNoSuchName, .ipv6 = DnsReply::kNoSuchName});
  }
  const bool ipv6 = IsIpv6(addresses_.front());
  SetReplies({.ipv4 = ipv6 ? DnsReply::kNone : DnsReply::kAddresses,
              .ipv6 = ipv6 ? DnsReply::kAddresses : DnsReply::kNone});
}

void NameServer::Fail() {
  MutexLock lock(mutex_);
  SetReplies({.ipv4 = DnsReply::kServerFailure, .ipv6 = DnsReply::kServerFailure});
}

void NameServer::ReplyAs(const Replies& replies) {
  MutexLock lock(mutex_);
  SetReplies(replies);
}

void NameServer::ReplyTo(const std::string& name, DnsReply ipv4, DnsReply ipv6) {
  ReplyAs({.name = name, .ipv4 = ipv4, .ipv6 = ipv6});
}

void NameServer::SetReplies(const Replies& replies) {
  replies_ = replies;
  queries_ = 0;
}

int NameServer::queries() const {
  MutexLock lock(mutex_);
  return queries_;
}

void NameServer::Serve() {
  constexpr int kPollTimeoutMs = 100;
  while (!stopping_) {
    std::array<pollfd, 2> both = {pollfd{.fd = socket_, .events = POLLIN},
                                  pollfd{.fd = tcp_socket_, .events = POLLIN}};
    if (poll(both.data(), both.size(), kPollTimeoutMs) <= 0) continue;
    if (both[0].revents != 0) HandleQuery();
    if (both[1].revents != 0) close(accept4(tcp_socket_, nullptr, nullptr, SOCK_CLOEXEC));
  }
}

void NameServer::HandleQuery() {
  std::string packet(512, '\0');
  sockaddr_in6 from = {};
  socklen_t size = sizeof(from);
  auto* const whose = reinterpret_cast<sockaddr*>(&from);
  const ssize_t got = recvfrom(socket_, packet.data(), packet.size(), 0, whose, &size);
  if (got <= 0) return;
  const std::string reply = Reply(packet.substr(0, static_cast<size_t>(got)));
  if (!reply.empty()) sendto(socket_, reply.data(), reply.size(), 0, whose, size);
}

DnsReply NameServer::ReplyFor(const std::string& name, bool ipv4) const {
  if (name == kAliasTarget) return replies_.target;
  if (!replies_.name.empty() && replies_.name != name) return replies_.others;
  return ipv4 ? replies_.ipv4 : replies_.ipv6;
}

std::string NameServer::Reply(const std::string& query) {
  const size_t end = EndOfQuestion(query);
  if (end > query.size()) return "";
  MutexLock lock(mutex_);
  const bool ipv4 = query[end - 3] == kTypeA;
  queries_ += ipv4 ? 1 : 0;
  const DnsReply what = ReplyFor(NameIn(query), ipv4);
  if (what == DnsReply::kSilence) return "";
  std::vector<std::string> records;
  const bool is_alias = what == DnsReply::kAlias || what == DnsReply::kAliasWithAddresses;
  if (is_alias) records = {AliasRecord()};
  if (what == DnsReply::kAddresses || what == DnsReply::kAliasWithAddresses) {
    const size_t owner = is_alias ? end + kRecordHeader : kHeader;
    for (const std::string& address : addresses_) records.push_back(Record(owner, address));
  }
  std::string reply = query.substr(0, end);
  reply[2] = '\x85';  // a reply, authoritative, recursion desired
  if (what == DnsReply::kTooLong) reply[2] = '\x87';
  reply[3] = static_cast<char>(0x80 | CodeOf(what));
  reply[6] = '\0';
  reply[7] = static_cast<char>(records.size());
  reply.replace(8, 4, 4, '\0');
  for (const std::string& record : records) reply += record;
  return reply;
}

}  // namespace gpuscaler
