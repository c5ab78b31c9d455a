#include "kubelet/kubelet_socket.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "wire/channel.h"

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

absl::StatusOr<std::string> CallKubelet(EventLoop& loop, const std::string& path,
                                        const std::string& method, size_t longest_answer,
                                        absl::Duration timeout) {
  Channel channel(loop, {.address = absl::StrCat("unix:", path)});
  UnaryAnswer answer = channel.CallRaw(method, /*request=*/"",
                                       {.timeout = timeout, .longest_message = longest_answer});
  const absl::Status& status = answer.end.status;
  if (status.ok()) return std::move(answer.message);
  if (answer.end.connect_fault && answer.end.connect_fault->system_error != 0) {
    return SocketError(answer.end.connect_fault->system_error, path);
  }
  if (absl::IsDeadlineExceeded(status)) {
    return absl::DeadlineExceededError(
        absl::StrCat(path, ": no answer within ", DurationText(timeout)));
  }
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace gpuscaler
