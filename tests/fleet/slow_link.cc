#include "slow_link.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

SlowLink::SlowLink(int port) : port_(port) {
  listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  auto* const own = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listening_, own, size), 0);
  EXPECT_EQ(listen(listening_, 16), 0);
  EXPECT_EQ(getsockname(listening_, own, &size), 0);
  own_port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { Accept(); });
}

SlowLink::~SlowLink() {
  stopping_ = true;
  accepting_.join();
  Break();
  MutexLock lock(mutex_);
  for (std::thread& pump : pumps_) pump.join();
  for (const Pair& pair : pairs_) {
    close(pair.near);
    close(pair.far);
  }
  close(listening_);
}

std::string SlowLink::address() const { return absl::StrCat("127.0.0.1:", own_port_); }

void SlowLink::Break() {
  MutexLock lock(mutex_);
  for (const Pair& pair : pairs_) {
    shutdown(pair.near, SHUT_RDWR);
    shutdown(pair.far, SHUT_RDWR);
  }
}

void SlowLink::Accept() {
  while (!stopping_) {
    pollfd ready = {.fd = listening_, .events = POLLIN};
    if (poll(&ready, 1, 50) != 1) continue;
    const int near = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(port_);
    if (connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      shutdown(near, SHUT_RDWR);
    }
    MutexLock lock(mutex_);
    pairs_.push_back({.near = near, .far = far});
    pumps_.emplace_back([this, near, far] { Pump(near, far); });
    pumps_.emplace_back([this, near, far] { Pump(far, near); });
  }
}

void SlowLink::Pump(int from, int to) const {
  std::array<char, 65536> bytes;
  while (true) {
    const ssize_t got = read(from, bytes.data(), bytes.size());
    if (got <= 0) break;
    absl::SleepFor(absl::Milliseconds(delay_ms_.load()));
    if (send(to, bytes.data(), static_cast<size_t>(got), MSG_NOSIGNAL) != got) break;
  }
  shutdown(from, SHUT_RDWR);
  shutdown(to, SHUT_RDWR);
}

}  // namespace gpuscaler
