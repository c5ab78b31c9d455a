#include "wire/protobuf_log.h"

#include <google/protobuf/stubs/logging.h>

#include <cstring>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/rate_limit.h"

namespace gpuscaler {
namespace {

// Protobuf calls an error what is more often a client's trouble than ours.
LogLevel LevelOf(google::protobuf::LogLevel level) {
  return level >= google::protobuf::LOGLEVEL_ERROR ? LogLevel::kWarn : LogLevel::kDebug;
}

void Write(google::protobuf::LogLevel level, const char* file, int line,
           const std::string& message) {
  // Never destroyed: threads may log until the process ends.
  static RateLimit& limit = *new RateLimit(*new SteadyClock, 10, absl::Seconds(10));
  const std::optional<int64_t> dropped = limit.Pass();
  if (!dropped) return;
  const char* const slash = std::strrchr(file, '/');
  Log(LevelOf(level), "protobuf",
      {{"message", message},
       {"file", slash == nullptr ? file : slash + 1},
       {"line", line},
       {"dropped", *dropped}});
}

}  // namespace

void TakeOverProtobufLog() { google::protobuf::SetLogHandler(&Write); }

}  // namespace gpuscaler
