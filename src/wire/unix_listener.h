// A unix socket that listens, and its file.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace gpuscaler {

// Not thread-safe.
class UnixListener {
 public:
  // Creates the file with mode 0660, in place of a socket that no process listens on any more.
  // INVALID_ARGUMENT: the path is too long. UNAVAILABLE: another process listens there, or the file
  // is no socket, or it cannot be created.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Open(std::string path);
  ~UnixListener();  // removes the file, unless another has taken its place
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

  // The socket is non-blocking, and the caller must close it. Must be called once.
  int TakeSocket() { return std::exchange(socket_, -1); }

 private:
  UnixListener(std::string path, int socket);

  const std::string path_;
  int socket_;
  dev_t device_ = 0;  // the file's
  ino_t inode_ = 0;
};

}  // namespace gpuscaler
