#include "engine/engine_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/plain_words.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// Where most engines have their page.
constexpr absl::string_view kUsualPath = "/metrics";

void AddOnce(std::vector<std::string>& paths, absl::string_view path) {
  if (std::ranges::find(paths, path) == paths.end()) paths.emplace_back(path);
}

bool IsUsualPortOfUsualPath(int port) {
  return std::ranges::any_of(Engines(), [port](const Engine* engine) {
    return IsUsualPort(*engine, port) && engine->path == kUsualPath;
  });
}

// NIM's is elsewhere, or was in early images; trtllm-serve's and Ollama's are too.
std::vector<std::string> PathsToTry(const EngineTarget& target, const Engine* named) {
  if (!target.at.path.empty()) return {target.at.path};
  std::vector<std::string> paths;
  if (named != nullptr) {
    AddOnce(paths, named->path);
    AddOnce(paths, kUsualPath);
    return paths;
  }
  if (IsUsualPortOfUsualPath(target.at.port)) AddOnce(paths, kUsualPath);
  for (const Engine* engine : Engines()) {
    if (IsUsualPort(*engine, target.at.port)) AddOnce(paths, engine->path);
  }
  AddOnce(paths, kUsualPath);
  for (const Engine* engine : Engines()) AddOnce(paths, engine->path);
  return paths;
}

}  // namespace

EngineReader::EngineReader(EngineTarget target, Sink sink, std::string tenant)
    : target_(std::move(target)),
      sink_(std::move(sink)),
      tenant_(std::move(tenant)),
      named_(EngineNamed(target_.engine)),
      paths_(PathsToTry(target_, named_)) {}

ScrapeRequest EngineReader::First() {
  tried_ = 1;
  empty_.reset();
  asks_info_ = false;
  fault_ = absl::OkStatus();
  return Request();
}

std::optional<ScrapeRequest> EngineReader::Take(absl::Time at, const absl::StatusOr<Page>& page) {
  if (asks_info_) {
    const absl::Status known = TakeInfo(page);
    Tell(at, known.ok() ? engine_->read("", {.histograms = histograms_}) : known);
    return std::nullopt;
  }
  absl::StatusOr<EngineReading> reading = Read(page);
  if (reading.ok()) {
    Tell(at, std::move(reading));
    return std::nullopt;
  }
  if (fault_.ok() || (page.ok() && !is_fault_of_a_page_)) {
    fault_ = reading.status();
    is_fault_of_a_page_ = page.ok();
  }
  if (page.ok() && MayTellBesides(*page) && !empty_.has_value()) empty_ = path_;
  if (!MayBeElsewhere(page.ok(), reading.status())) {
    Tell(at, fault_);
    return std::nullopt;
  }
  engine_ = nullptr;
  path_ = (path_ + 1) % paths_.size();
  if (tried_ < paths_.size()) {
    ++tried_;
    return Request();
  }
  if (empty_.has_value()) {
    asks_info_ = true;
    ScrapeRequest request = target_.at;
    request.path = std::string(kInfoPath);
    return request;
  }
  Tell(at, fault_);
  return std::nullopt;
}

bool EngineReader::MayTellBesides(const Page& page) const {
  return named_ == nullptr && target_.at.path.empty() &&
         absl::StripAsciiWhitespace(page.body).empty();
}

absl::Status EngineReader::TakeInfo(const absl::StatusOr<Page>& info) {
  engine_ = info.ok() ? EngineOfInfo(info->body) : nullptr;
  if (engine_ == nullptr) return fault_;
  path_ = *empty_;
  return absl::OkStatus();
}

absl::StatusOr<EngineReading> EngineReader::Read(const absl::StatusOr<Page>& page) {
  RETURN_IF_ERROR(page.status());
  absl::StatusOr<EngineReading> reading = ReadBody(*page);
  if (reading.ok()) return reading;
  return absl::Status(
      reading.status().code(),
      absl::StrCat(Request().Place(), ": ", PlainWords(reading.status().message())));
}

absl::StatusOr<EngineReading> EngineReader::ReadBody(const Page& page) {
  const ScrapeInterest interest = {.format = page.format, .histograms = histograms_};
  const Engine* const known = named_ == nullptr ? engine_ : named_;
  if (known != nullptr) {
    absl::StatusOr<EngineReading> reading = known->read(page.body, interest);
    if (reading.ok()) engine_ = known;
    if (named_ != nullptr || !absl::IsNotFound(reading.status())) return reading;
    engine_ = nullptr;
  }
  ASSIGN_OR_RETURN(const Engine* const recognised, Recognise(page.body, page.format));
  absl::StatusOr<EngineReading> reading = recognised->read(page.body, interest);
  if (reading.ok()) engine_ = recognised;
  return reading;
}

// A server without that page, or a page that is nobody's. One of the engine that it is known to be
// is its page, however broken.
bool EngineReader::MayBeElsewhere(bool is_of_a_page, const absl::Status& fault) const {
  return absl::IsNotFound(fault) ||
         (is_of_a_page && engine_ == nullptr && absl::IsInvalidArgument(fault));
}

ScrapeRequest EngineReader::Request() const {
  ScrapeRequest request = target_.at;
  request.path = paths_[path_];
  return request;
}

void EngineReader::Tell(absl::Time at, absl::StatusOr<EngineReading> reading) {
  const Engine* const engine = engine_ == nullptr ? named_ : engine_;
  sink_(target_, {.at = at,
                  .engine = engine == nullptr ? absl::string_view() : engine->name,
                  .reading = std::move(reading)});
}

}  // namespace gpuscaler
