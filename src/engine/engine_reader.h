// Reads one engine's process on each poll. Finds out which engine it is and on which path it
// exports metrics.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/engine_group.h"
#include "engine/engines.h"
#include "page/scrape_request.h"

namespace gpuscaler {

struct EngineTarget {
  ScrapeRequest at;    // if its path is empty, the default paths of engines are tried
  std::string engine;  // an EngineNamed() name; empty: any engine

  friend auto operator<=>(const EngineTarget&, const EngineTarget&) = default;
};

// Once the engine is recognised, each poll requests its path only. The search starts again if that
// path is missing or belongs to another engine, because another process may have the address by
// now.
//
// Until then each poll tries the paths of all engines, first those of engines with this default
// port. A server that refuses or times out gets one request a poll. If no path serves an engine's
// exposition and one response is empty, as an engine's may be before its first request, kInfoPath
// is requested as well.
class EngineReader {
 public:
  // `update.engine` is empty until the engine is recognised. An error in the exposition names its
  // URL.
  using Sink = std::function<void(const EngineTarget& target, const EngineUpdate& update)>;

  EngineReader(EngineTarget target, Sink sink);

  const EngineTarget& target() const { return target_; }

  // Whether readings include histograms from now on. Callable on any thread.
  void SetHistograms(bool included) { histograms_ = included; }

  // One poll, as of a PolledTarget.
  ScrapeRequest FirstRequest();
  std::optional<ScrapeRequest> Take(absl::Time at, const absl::StatusOr<Page>& page);

 private:
  absl::StatusOr<EngineReading> Read(const absl::StatusOr<Page>& page);
  absl::StatusOr<EngineReading> ReadBody(const Page& page);
  bool MayBeOnAnotherPath(bool has_response, const absl::Status& error) const;
  // Returns true if the exposition is empty and kInfoPath may identify the engine.
  bool MayBeIdentifiedByInfo(const Page& page) const;
  // Sets the engine by its response to kInfoPath. Returns the error of this poll if there is none.
  absl::Status TakeInfo(const absl::StatusOr<Page>& info);
  ScrapeRequest Request() const;
  void Report(absl::Time at, absl::StatusOr<EngineReading> reading);

  const EngineTarget target_;
  const Sink sink_;
  const Engine* const named_;             // null: any engine
  const std::vector<std::string> paths_;  // tried in order
  std::atomic<bool> histograms_ = false;
  const Engine* engine_ = nullptr;    // null: not recognised yet
  size_t path_ = 0;                   // index of the current or last good path
  size_t tried_ = 0;                  // paths tried in this poll
  std::optional<size_t> empty_path_;  // index of the path with an empty response in this poll
  bool is_info_requested_ = false;    // kInfoPath has been requested
  absl::Status error_;  // this poll's; an invalid exposition precedes a failed request
  bool is_exposition_error_ = false;
};

}  // namespace gpuscaler
