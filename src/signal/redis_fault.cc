#include "signal/redis_fault.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/printable_text.h"

namespace gpuscaler {
namespace {

struct Fault {
  absl::string_view prefix;  // the error in Redis 5 to 7
  absl::string_view message;
  absl::StatusCode code;
  bool quotes_server;  // the server's own text follows
};

constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
constexpr auto kWrong = absl::StatusCode::kFailedPrecondition;
constexpr auto kTemporary = absl::StatusCode::kUnavailable;

// Errors of any command. The first row that matches counts.
constexpr Fault kFaults[] = {
    {"NOAUTH", "Redis requires a password: redisPasswordFromEnv or credentials gives it", kDenied,
     false},
    {"NOPERM", "the Redis user may not read this", kDenied, true},
    {"DENIED", "Redis is in protected mode: without a password it serves itself alone", kDenied,
     false},
    {"LOADING", "Redis is loading its data", kTemporary, false},
    {"MASTERDOWN", "this replica of Redis has lost its master", kTemporary, false},
    {"CLUSTERDOWN", "the Redis Cluster is down", kTemporary, false},
    {"ASK ", "the Redis Cluster is moving this key to another node", kTemporary, false},
    {"TRYAGAIN", "the Redis Cluster is moving this key to another node", kTemporary, false},
    {"BUSY", "Redis is busy with a script", kTemporary, false},
    {"ERR max number of clients", "Redis has no room for another client", kTemporary, false},
    {"MOVED ",
     "the key is at another node of the Redis Cluster, which its redisAddress does not lead to",
     kWrong, true},
    {"WRONGTYPE", "the key holds something of another type", kWrong, false},
    {"ERR unknown command", "Redis does not know the command: streams need Redis 5", kWrong, true},
    {"ERR unknown subcommand", "Redis does not know the command: streams need Redis 5", kWrong,
     true},
};

constexpr Fault kSignInFaults[] = {
    {"WRONGPASS", "Redis refuses the user or the password", kDenied, false},
    {"ERR invalid password", "Redis refuses the password", kDenied, false},
    {"ERR AUTH <password> called without any password",
     "this Redis has no password: redisPassword is to be left out", kWrong, false},
    {"ERR Client sent AUTH, but no password is set",
     "this Redis has no password: redisPassword is to be left out", kWrong, false},
    {"ERR wrong number of arguments for 'auth'",
     "Redis before 6 has no users: redisUsername is to be left out", kWrong, false},
    {"ERR DB index is out of range", "Redis has no database of this redisDatabase", kWrong, false},
    {"ERR invalid DB index", "Redis has no database of this redisDatabase", kWrong, false},
    {"ERR SELECT is not allowed in cluster mode",
     "a Redis Cluster has database 0 alone: redisDatabase is to be left out", kWrong, false},
    {"NOPERM", "the Redis user may not choose a database", kDenied, false},
};

std::string Quoted(absl::string_view words) {
  return absl::StrCat(" (\"", PrintableText(words), "\")");
}

template <size_t kSize>
const Fault* FaultOf(const Fault (&faults)[kSize], absl::string_view error) {
  const auto* const found = std::ranges::find_if(
      faults, [&](const Fault& fault) { return absl::StartsWith(error, fault.prefix); });
  return found == std::end(faults) ? nullptr : found;
}

absl::Status StatusOf(const Fault& fault, absl::string_view error) {
  return {fault.code, absl::StrCat(fault.message, fault.quotes_server ? Quoted(error) : "")};
}

}  // namespace

absl::Status RedisFault(absl::string_view error) {
  if (const Fault* const fault = FaultOf(kFaults, error)) return StatusOf(*fault, error);
  return absl::UnavailableError(absl::StrCat("Redis answers with an error", Quoted(error)));
}

absl::Status RedisSignInFault(absl::string_view error) {
  if (const Fault* const fault = FaultOf(kSignInFaults, error)) return StatusOf(*fault, error);
  const Fault* const fault = FaultOf(kFaults, error);
  if (fault != nullptr && !fault->quotes_server) return StatusOf(*fault, error);
  return absl::FailedPreconditionError("Redis does not let us sign in or choose the database");
}

absl::string_view MovedTo(absl::string_view error) {
  const std::vector<absl::string_view> words = absl::StrSplit(error, ' ');
  return words.size() == 3 && words[0] == "MOVED" ? words[2] : "";
}

}  // namespace gpuscaler
