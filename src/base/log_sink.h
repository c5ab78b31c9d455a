// Log lines on their way to a descriptor that may not take them.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "spdlog/sinks/base_sink.h"

namespace gpuscaler {

// Never waits for the reader: of a pipe whose reader has stalled, or a terminal that was stopped,
// an answer to KEDA must not hang. What does not fit is dropped and counted, and the next line that
// fits comes after one that says how many were.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // `descriptor` outlives the sink. `told` is the line that says how many were dropped.
  LogSink(int descriptor, std::function<std::string(int64_t dropped)> told);

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  // False when the line did not fit, or not all of it.
  bool Write(absl::string_view line);

  const int descriptor_;
  const std::function<std::string(int64_t)> reported_;
  int64_t dropped_ = 0;
  bool cut_ = false;  // the last line has no end
};

}  // namespace gpuscaler
