#include "rpc/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <cstring>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/rate_limit.h"
#include "rpc/refused_handshakes.h"

namespace gpuscaler {
namespace {

// What they call an error is some client's trouble more often than ours.
LogLevel LevelOf(bool error) { return error ? LogLevel::kWarn : LogLevel::kDebug; }

// Within limits of their own: neither they nor the rest hide the other.
void WriteHandshake(HandshakeFault fault, absl::string_view message) {
  static HandshakeLog& log = *new HandshakeLog(*new SteadyClock);
  log.Write(fault, message);
  CountHandshakeFault(fault);
}

void Write(bool error, absl::string_view message, const char* file, int line) {
  if (const auto fault = HandshakeFaultOf(message)) return WriteHandshake(*fault, message);
  // Never destroyed: gRPC's threads may log until the process ends.
  static RateLimit& limit = *new RateLimit(*new SteadyClock, 10, absl::Seconds(10));
  const std::optional<int64_t> dropped = limit.Pass();
  if (!dropped) return;
  const char* const slash = std::strrchr(file, '/');
  Log(LevelOf(error), "grpc",
      {{"message", message},
       {"file", slash == nullptr ? file : slash + 1},
       {"line", line},
       {"dropped", *dropped}});
}

void WriteGrpc(gpr_log_func_args* args) {
  Write(args->severity == GPR_LOG_SEVERITY_ERROR, args->message, args->file, args->line);
}

void WriteProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                   const std::string& message) {
  Write(level >= google::protobuf::LOGLEVEL_ERROR, message, file, line);
}

}  // namespace

void TakeOverGrpcLog() {
  gpr_set_log_function(&WriteGrpc);
  google::protobuf::SetLogHandler(&WriteProtobuf);
}

}  // namespace gpuscaler
