#include "own_network.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "process.h"

namespace gpuscaler {
namespace {

absl::Status Failed(absl::string_view what) { return absl::ErrnoToStatus(errno, what); }

absl::Status SetInterface(int of_namespace, const char* name, bool up) {
  ifreq request = {};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(of_namespace, SIOCGIFFLAGS, &request) != 0) return Failed(name);
  const int flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
  request.ifr_flags = static_cast<short>(flags);
  return ioctl(of_namespace, SIOCSIFFLAGS, &request) == 0 ? absl::OkStatus() : Failed(name);
}

bool WriteText(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.flush();
  return file.good();
}

absl::Status BecomeRootOfOurOwn() {
  const std::string user = absl::StrCat("0 ", geteuid(), " 1"),
                    group = absl::StrCat("0 ", getegid(), " 1");
  if (unshare(CLONE_NEWUSER) != 0)
    return Failed("a user namespace (to be root, or sysctl kernel.unprivileged_userns_clone)");
  const bool mapped = WriteText("/proc/self/setgroups", "deny") &&
                      WriteText("/proc/self/uid_map", user) &&
                      WriteText("/proc/self/gid_map", group);
  return mapped ? absl::OkStatus() : Failed("the users of a user namespace");
}

absl::Status Run(const std::string& command) {
  if (std::system(command.c_str()) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("failed: ", command));
}

}  // namespace

absl::Status EnterOwnNetwork() {
  constexpr int kSpaces = CLONE_NEWNET | CLONE_NEWNS;
  if (unshare(kSpaces) != 0) {
    RETURN_IF_ERROR(BecomeRootOfOurOwn());
    if (unshare(kSpaces) != 0) return Failed("a network and a mount namespace");
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return Failed("mounts of our own");
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  absl::Status up = SetInterface(any, "lo", true);
  close(any);
  return up;
}

absl::Status UseOwnNameServer(const std::string& search, int timeout_seconds,
                              const std::string& server) {
  constexpr char kFile[] = "/etc/resolv.conf";
  if (!std::filesystem::exists(kFile)) return absl::OkStatus();  // the resolver then uses 127.0.0.1
  const std::string ours = WriteTestFile(
      "resolv.conf", absl::StrCat("nameserver ", server, "\nsearch ", search,
                                  "\noptions ndots:5 attempts:1 timeout:", timeout_seconds, "\n"));
  if (mount(ours.c_str(), kFile, nullptr, MS_BIND, nullptr) != 0) return Failed(kFile);
  return absl::OkStatus();
}

Ipv6OnlyNetwork::Ipv6OnlyNetwork()
    : before_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
  made_ = before_ >= 0 && unshare(CLONE_NEWNET) == 0
              ? Run("ip link set lo up && ip address del 127.0.0.1/8 dev lo")
              : Failed("a network without IPv4");
}

Ipv6OnlyNetwork::~Ipv6OnlyNetwork() {
  setns(before_, CLONE_NEWNET);
  close(before_);
}

Cable::Cable() {
  std::thread([this] {
    if (unshare(CLONE_NEWNET) != 0) return;
    far_namespace_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    far_socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  }).join();
  if (far_namespace_ < 0) {
    status_ = absl::PermissionDeniedError("no second network namespace");
    return;
  }
  const std::string there = absl::StrCat("/proc/", getpid(), "/fd/", far_namespace_);
  status_ = Run(absl::StrCat(
      "ip link add near type veth peer name far netns ", there,
      " && ip address add 10.77.0.1/24 dev near && ip link set near up"
      " && nsenter --net=",
      there,
      " sh -c '"
      "ip address add 10.77.0.2/24 dev far && ip link set far up && ip link set lo up'"));
}

Cable::~Cable() {
  Run("ip link del near").IgnoreError();
  close(far_socket_);
  close(far_namespace_);
}

void Cable::EnterFarEnd() const {
  if (setns(far_namespace_, CLONE_NEWNET) != 0) _exit(126);
}

void Cable::Cut() const { SetInterface(far_socket_, "far", false).IgnoreError(); }
void Cable::Mend() const { SetInterface(far_socket_, "far", true).IgnoreError(); }

}  // namespace gpuscaler
