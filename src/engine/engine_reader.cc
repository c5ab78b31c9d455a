#include "engine/engine_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// The path of most engines.
constexpr absl::string_view kUsualPath = "/metrics";

void AddOnce(std::vector<std::string>& paths, absl::string_view path) {
  if (std::ranges::find(paths, path) == paths.end()) paths.emplace_back(path);
}

bool IsDefaultPortOfUsualPath(int port) {
  return std::ranges::any_of(Engines(), [port](const Engine* engine) {
    return IsDefaultPort(*engine, port) && engine->path == kUsualPath;
  });
}

// NIM, trtllm-serve and Ollama use other paths. Some early NIM images use kUsualPath. `named` is
// the engine that the target names, or null.
std::vector<std::string> PathsToTry(const EngineTarget& target, const Engine* named) {
  if (!target.at.path.empty()) return {target.at.path};
  std::vector<std::string> paths;
  if (named != nullptr) {
    AddOnce(paths, named->path);
    AddOnce(paths, kUsualPath);
    return paths;
  }
  // NIM, trtllm-serve and vLLM share a default port: vLLM's path comes first.
  if (IsDefaultPortOfUsualPath(target.at.server.port)) AddOnce(paths, kUsualPath);
  for (const Engine* engine : Engines()) {
    if (IsDefaultPort(*engine, target.at.server.port)) AddOnce(paths, engine->path);
  }
  AddOnce(paths, kUsualPath);
  for (const Engine* engine : Engines()) AddOnce(paths, engine->path);
  return paths;
}

}  // namespace

EngineReader::EngineReader(EngineTarget target, Sink sink)
    : target_(std::move(target)),
      sink_(std::move(sink)),
      named_(EngineNamed(target_.engine)),
      paths_(PathsToTry(target_, named_)) {}

ScrapeRequest EngineReader::FirstRequest() {
  tried_ = 1;
  empty_path_.reset();
  is_info_requested_ = false;
  error_ = absl::OkStatus();
  return Request();
}

std::optional<ScrapeRequest> EngineReader::Take(absl::Time at, const absl::StatusOr<Page>& page) {
  if (is_info_requested_) {
    const absl::Status identified = TakeInfo(page);
    // The exposition was empty, so an empty text is read.
    Report(at, identified.ok() ? engine_->read("", {.histograms = histograms_}) : identified);
    return std::nullopt;
  }
  absl::StatusOr<EngineReading> reading = Read(page);
  if (reading.ok()) {
    Report(at, std::move(reading));
    return std::nullopt;
  }
  // Keeps the first error in an exposition, or the first error if no path has an exposition.
  if (error_.ok() || (page.ok() && !is_exposition_error_)) {
    error_ = reading.status();
    is_exposition_error_ = page.ok();
  }
  if (page.ok() && MayBeIdentifiedByInfo(*page) && !empty_path_.has_value()) empty_path_ = path_;
  if (!MayBeOnAnotherPath(page.ok(), reading.status())) {
    Report(at, error_);
    return std::nullopt;
  }
  engine_ = nullptr;
  path_ = (path_ + 1) % paths_.size();  // once all are tried: where this poll began
  if (tried_ < paths_.size()) {
    ++tried_;
    return Request();
  }
  if (empty_path_.has_value()) {
    is_info_requested_ = true;
    ScrapeRequest request = target_.at;
    request.path = std::string(kInfoPath);
    return request;
  }
  Report(at, error_);
  return std::nullopt;
}

bool EngineReader::MayBeIdentifiedByInfo(const Page& page) const {
  return named_ == nullptr && target_.at.path.empty() &&
         absl::StripAsciiWhitespace(page.body).empty();
}

absl::Status EngineReader::TakeInfo(const absl::StatusOr<Page>& info) {
  engine_ = info.ok() ? EngineOfInfo(info->body) : nullptr;
  if (engine_ == nullptr) return error_;
  path_ = *empty_path_;
  return absl::OkStatus();
}

absl::StatusOr<EngineReading> EngineReader::Read(const absl::StatusOr<Page>& page) {
  RETURN_IF_ERROR(page.status());
  absl::StatusOr<EngineReading> reading = ReadBody(*page);
  if (reading.ok()) return reading;
  return Request().AtPlace(reading.status());
}

absl::StatusOr<EngineReading> EngineReader::ReadBody(const Page& page) {
  const ScrapeInterest interest = {.format = page.format, .histograms = histograms_};
  const Engine* const engine = named_ == nullptr ? engine_ : named_;
  if (engine != nullptr) {
    absl::StatusOr<EngineReading> reading = engine->read(page.body, interest);
    if (reading.ok()) engine_ = engine;
    if (named_ != nullptr || !absl::IsNotFound(reading.status())) return reading;
    engine_ = nullptr;  // the exposition has none of its metrics
  }
  ASSIGN_OR_RETURN(const Engine* const recognised, Recognise(page.body, page.format));
  absl::StatusOr<EngineReading> reading = recognised->read(page.body, interest);
  if (reading.ok()) engine_ = recognised;
  return reading;
}

// Returns true for NOT_FOUND: the server has no such path (HTTP 404), or the exposition lacks the
// metrics of the named engine or of all engines. Returns true for a malformed response too, unless
// the engine is recognised: its path is then the right one.
bool EngineReader::MayBeOnAnotherPath(bool has_response, const absl::Status& error) const {
  return absl::IsNotFound(error) ||
         (has_response && engine_ == nullptr && absl::IsInvalidArgument(error));
}

ScrapeRequest EngineReader::Request() const {
  ScrapeRequest request = target_.at;
  request.path = paths_[path_];
  return request;
}

void EngineReader::Report(absl::Time at, absl::StatusOr<EngineReading> reading) {
  const Engine* const engine = engine_ == nullptr ? named_ : engine_;
  sink_(target_, {.at = at,
                  .engine = engine == nullptr ? absl::string_view() : engine->name,
                  .reading = std::move(reading)});
}

}  // namespace gpuscaler
