#include "base/log_sink.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

bool IsWritable(int descriptor) {
  pollfd polled = {.fd = descriptor, .events = POLLOUT, .revents = 0};
  return poll(&polled, 1, 0) == 1 && (polled.revents & POLLOUT) != 0;
}

}  // namespace

LogSink::LogSink(int descriptor, std::function<std::string(int64_t)> dropped_line)
    : descriptor_(descriptor), dropped_line_(std::move(dropped_line)) {}

void LogSink::sink_it_(const spdlog::details::log_msg& message) {
  if (dropped_ > 0 && Write(dropped_line_(dropped_))) dropped_ = 0;
  if (dropped_ > 0 || !Write({message.payload.data(), message.payload.size()})) ++dropped_;
}

bool LogSink::Write(absl::string_view line) {
  const std::string text = absl::StrCat(cut_ ? "\n" : "", line, "\n");
  absl::string_view rest = text;
  while (!rest.empty()) {
    if (!IsWritable(descriptor_)) break;
    // A writable pipe takes PIPE_BUF bytes without blocking: pipe(7).
    const size_t most = std::min<size_t>(rest.size(), PIPE_BUF);
    const ssize_t written = write(descriptor_, rest.data(), most);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  if (rest.size() < text.size()) cut_ = !rest.empty();
  return rest.empty();
}

}  // namespace gpuscaler
