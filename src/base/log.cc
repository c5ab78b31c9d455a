#include "base/log.h"

#include <unistd.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/log_sink.h"
#include "base/number_text.h"
#include "base/printable_text.h"
#include "nlohmann/json.hpp"
#include "spdlog/spdlog.h"

namespace gpuscaler {
namespace {

std::atomic<LogFormat> log_format{LogFormat::kText};

absl::string_view Name(LogLevel level) {
  constexpr absl::string_view kNames[] = {"debug", "info", "warn", "error"};
  return kNames[static_cast<size_t>(level)];
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn, spdlog::level::err};
  return kLevels[static_cast<size_t>(level)];
}

std::string Json(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Returns the text unquoted if it is one word, else quoted and escaped as in JSON.
std::string TextValue(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_of(" \"=\\\t\r\n") == std::string::npos &&
                     Json(text).size() == text.size() + 2;
  return plain ? text : Json(text);
}

std::string FormatValue(LogFormat format, const LogField::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return format == LogFormat::kJson ? Json(*text) : TextValue(*text);
  }
  if (const auto* number = std::get_if<double>(&value)) return NumberText(*number);
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number);
  return std::get<bool>(value) ? "true" : "false";
}

std::string Now() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
}

std::string LinesDropped(int64_t count) {
  return FormatLogLine(log_format, Now(), LogLevel::kWarn, "log_lines_dropped",
                       {{"count", count}, {"why", "standard error was not read"}});
}

// spdlog does the level filter and the locking.
spdlog::logger& Logger() {
  static spdlog::logger& logger = *new spdlog::logger(
      "keda-gpu-scaler", std::make_shared<LogSink>(STDERR_FILENO, &LinesDropped));
  return logger;
}

}  // namespace

std::string FormatLogLine(LogFormat format, absl::string_view at, LogLevel level,
                          absl::string_view event, std::initializer_list<LogField> fields) {
  if (format == LogFormat::kText) {
    std::string line = absl::StrCat(at, " level=", Name(level), " event=", event);
    for (const LogField& field : fields) {
      absl::StrAppend(&line, " ", field.key, "=", FormatValue(format, field.value));
    }
    return EscapedLine(line);
  }
  std::string line = absl::StrCat("{\"time\":\"", at, "\",\"level\":\"", Name(level),
                                  "\",\"event\":\"", event, "\"");
  for (const LogField& field : fields) {
    absl::StrAppend(&line, ",\"", field.key, "\":", FormatValue(format, field.value));
  }
  return line + "}";
}

void StartLogging(LogLevel level, LogFormat format) {
  log_format = format;
  SetLogLevel(level);
}

void SetLogLevel(LogLevel level) { Logger().set_level(SpdlogLevel(level)); }

void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) {
  if (!Logger().should_log(SpdlogLevel(level))) return;
  // The line is an argument, because braces in it must not be read as a format.
  Logger().log(SpdlogLevel(level), "{}", FormatLogLine(log_format, Now(), level, event, fields));
}

}  // namespace gpuscaler
