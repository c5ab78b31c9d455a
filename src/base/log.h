// Structured log on standard error: one event per line. Log changes, not ticks.
//
//   LogWarn("snapshot_stale", {{"node", "gpu-7"}, {"age_seconds", 12.4}});
//   2026-01-01T00:00:00.000Z level=warn event=snapshot_stale node=gpu-7 age_seconds=12.4
//
// Must not contain secrets: pass no metadata values, no keys, no certificates.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <variant>

#include "absl/strings/string_view.h"

namespace gpuscaler {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

struct LogField {
  using Value = std::variant<std::string, double, int64_t, bool>;

  LogField(absl::string_view key, absl::string_view text) : key(key), value(std::string(text)) {}
  LogField(absl::string_view key, const char* text) : key(key), value(std::string(text)) {}
  LogField(absl::string_view key, const std::string& text) : key(key), value(text) {}
  template <typename T>
  requires std::is_arithmetic_v<T> LogField(absl::string_view key, T number)
      : key(key), value(ToValue(number)) {}

  absl::string_view key;
  Value value;

 private:
  template <typename T>
  static Value ToValue(T number) {
    if constexpr (std::is_same_v<T, bool>) return number;
    if constexpr (std::is_floating_point_v<T>) return static_cast<double>(number);
    return static_cast<int64_t>(number);
  }
};

// Must be called at most once, before threads start. The default is level info, as text.
void StartLogging(LogLevel level, LogFormat format);

// Replaces the level that StartLogging() set. Thread-safe.
void SetLogLevel(LogLevel level);

// Thread-safe. Never blocks on the reader of standard error (log_sink.h). `event` and the keys are
// snake_case.
void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields);

inline void LogDebug(absl::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, event, fields);
}
inline void LogInfo(absl::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, event, fields);
}
inline void LogWarn(absl::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarn, event, fields);
}
inline void LogError(absl::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, event, fields);
}

// The line has no newline at its end. `at` is UTC, RFC 3339 with milliseconds.
std::string FormatLogLine(LogFormat format, absl::string_view at, LogLevel level,
                          absl::string_view event, std::initializer_list<LogField> fields);

}  // namespace gpuscaler
