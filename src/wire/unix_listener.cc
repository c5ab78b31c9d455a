#include "wire/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr mode_t kMode = 0660;

absl::Status CannotListen(const std::string& path, const char* why) {
  return absl::UnavailableError(absl::StrCat("cannot listen on unix:", path, ": ", why));
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

int NewSocket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// True if the file is a socket without a listener: its process has ended without removing it.
bool IsStale(const sockaddr_un& address) {
  struct stat file = {};
  if (lstat(address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  const int probe = NewSocket();
  if (probe < 0) return false;
  const bool is_refused =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
      errno == ECONNREFUSED;
  close(probe);
  return is_refused;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Open(std::string path) {
  const sockaddr_un address = AddressOf(path);
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("unix:", path, ": the path must have 1 to ",
                                                   sizeof(address.sun_path) - 1, " bytes"));
  }
  if (IsStale(address)) unlink(path.c_str());
  const int socket = NewSocket();
  if (socket < 0) return CannotListen(path, std::strerror(errno));
  // The file gets the socket's mode, less the umask; never more, not even for a moment.
  if (fchmod(socket, kMode) != 0 ||
      bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const absl::Status status = CannotListen(path, std::strerror(errno));
    close(socket);
    return status;
  }
  std::unique_ptr<UnixListener> listener(new UnixListener(std::move(path), socket));
  if (chmod(listener->path_.c_str(), kMode) != 0 || listen(socket, SOMAXCONN) != 0) {
    return CannotListen(listener->path_, std::strerror(errno));
  }
  return listener;
}

UnixListener::UnixListener(std::string path, int socket) : path_(std::move(path)), socket_(socket) {
  struct stat file = {};
  if (lstat(path_.c_str(), &file) != 0) return;
  device_ = file.st_dev;
  inode_ = file.st_ino;
}

UnixListener::~UnixListener() {
  if (socket_ >= 0) close(socket_);
  struct stat file = {};
  if (lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

}  // namespace gpuscaler
