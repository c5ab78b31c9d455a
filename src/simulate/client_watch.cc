#include "simulate/client_watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace gpuscaler {
namespace {

constexpr int64_t kWakeKey = 0;  // not the id of a request

void AddTo(int epoll, int descriptor, uint32_t events, int64_t key) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(key);
  epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

// Rounded up, so that epoll does not wake too early.
int Milliseconds(absl::Duration timeout) {
  const absl::Duration bounded =
      std::clamp(absl::Ceil(timeout, absl::Milliseconds(1)), absl::ZeroDuration(), absl::Hours(1));
  return static_cast<int>(absl::ToInt64Milliseconds(bounded));
}

}  // namespace

ClientWatch::ClientWatch()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  AddTo(epoll_, wake_, EPOLLIN, kWakeKey);
}

ClientWatch::~ClientWatch() {
  close(wake_);
  close(epoll_);
}

void ClientWatch::Add(int socket, int64_t key) { AddTo(epoll_, socket, EPOLLRDHUP, key); }

void ClientWatch::Remove(int socket) { epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr); }

std::vector<int64_t> ClientWatch::Wait(absl::Duration timeout) {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_, events.data(), events.size(), Milliseconds(timeout));
  std::vector<int64_t> gone;
  for (int i = 0; i < count; ++i) {
    const auto key = static_cast<int64_t>(events[static_cast<size_t>(i)].data.u64);
    if (key != kWakeKey) {
      gone.push_back(key);
      continue;
    }
    uint64_t ignored = 0;
    [[maybe_unused]] const ssize_t read_count = read(wake_, &ignored, sizeof(ignored));
  }
  return gone;
}

void ClientWatch::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
}

}  // namespace gpuscaler
