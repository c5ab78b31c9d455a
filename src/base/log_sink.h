// A spdlog sink that writes to a descriptor without ever blocking on its reader.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "spdlog/sinks/base_sink.h"

namespace gpuscaler {

// Never blocks: a stalled pipe reader or a stopped terminal must not delay an answer to KEDA. A
// line that does not fit is dropped and counted. The next line that fits follows a line with the
// number of dropped ones. Thread-safe.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // `descriptor` must outlive the sink. `dropped_line` returns the line for `dropped` lost lines.
  LogSink(int descriptor, std::function<std::string(int64_t dropped)> dropped_line);

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  // Returns false if the line did not fit completely.
  bool Write(absl::string_view line);

  const int descriptor_;
  const std::function<std::string(int64_t)> dropped_line_;
  int64_t dropped_ = 0;
  bool cut_ = false;  // only the beginning of the last line was written
};

}  // namespace gpuscaler
