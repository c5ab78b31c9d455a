#include "kubelet/kubelet_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "grpcpp/create_channel_posix.h"
#include "grpcpp/support/channel_arguments.h"

namespace gpuscaler {
namespace {

absl::Status SocketError(int error, const std::string& path) {
  switch (error) {
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(
          absl::StrCat(path, ": permission denied: the kubelet's socket is for uid 0"));
    case ENOENT:
      return absl::NotFoundError(
          absl::StrCat(path, ": no such socket: no kubelet runs, or its folder is not mounted"));
    case ECONNREFUSED:
      if (const std::string is = InPlaceOfSocket(path); !is.empty()) {
        return absl::UnavailableError(absl::StrCat(path, ": is ", is, ", and no socket"));
      }
      return absl::UnavailableError(absl::StrCat(path, ": connection refused: no kubelet runs"));
    case EAGAIN:
      return absl::UnavailableError(absl::StrCat(path, ": the kubelet accepts no connections"));
    default:
      return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(error)));
  }
}

// Negative: errno says why.
int Connect(const std::string& path) {
  sockaddr_un address = {.sun_family = AF_UNIX};
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

std::string InPlaceOfSocket(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;  // its type is `none` then
  switch (fs::status(path, error).type()) {
    case fs::file_type::none:
    case fs::file_type::not_found:
    case fs::file_type::socket:
      return "";
    case fs::file_type::directory:
      return "a directory";
    case fs::file_type::regular:
      return "a file";
    default:
      return "a device or a pipe";
  }
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToKubelet(const std::string& path,
                                                                int most_bytes) {
  const int fd = Connect(path);
  if (fd < 0) return SocketError(errno, path);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(most_bytes);
  return grpc::CreateCustomInsecureChannelFromFd("kubelet", fd, arguments);  // takes fd
}

void SetTimeout(absl::Duration timeout, grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
}

absl::Status KubeletError(const grpc::Status& status, const std::string& path,
                          absl::Duration timeout) {
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::DeadlineExceededError(
        absl::StrCat(path, ": no answer within ", DurationText(timeout)));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(path, ": ", status.error_message()));
}

}  // namespace gpuscaler
