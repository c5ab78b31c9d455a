// One engine's process, read again and again: which engine it is, and on which path its page is.
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
#include "page/scrape_poller.h"
#include "page/scrape_request.h"

namespace gpuscaler {

struct EngineTarget {
  ScrapeRequest at;    // its path empty: where engines have their pages
  std::string engine;  // of EngineNamed(); empty: whichever the page is of

  friend auto operator<=>(const EngineTarget&, const EngineTarget&) = default;
};

// Once it is recognised it is asked on its path alone, until a page is no longer of that engine or
// no longer there: another process may have the address by now. While it is not, each poll tries
// the paths of all engines in turn, those first whose usual port it is; a server that refuses or
// hangs is asked once a poll. Where it is none of theirs and one of the pages is empty, as an
// engine's may be before its first request, it is asked what it is besides.
class EngineReader : public PolledTarget {
 public:
  // `engine` of the news is empty until it is recognised. A fault of the page names its place.
  using Sink = std::function<void(const EngineTarget& target, const EngineUpdate& update)>;

  // `tenant`: PolledTarget::Tenant().
  EngineReader(EngineTarget target, Sink sink, std::string tenant = "");

  // Whether readings have histograms from now on. At any time.
  void WantHistograms(bool wanted) { histograms_ = wanted; }

  std::string Tenant() override { return tenant_; }
  ScrapeRequest First() override;
  std::optional<ScrapeRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) override;

 private:
  absl::StatusOr<EngineReading> Read(const absl::StatusOr<Page>& page);
  absl::StatusOr<EngineReading> ReadBody(const Page& page);
  bool MayBeElsewhere(bool is_of_a_page, const absl::Status& fault) const;
  // Nothing is on the page, and its server may say elsewhere what it is.
  bool MayTellBesides(const Page& page) const;
  // The engine whose empty page that was; OK: it is one.
  absl::Status TakeInfo(const absl::StatusOr<Page>& info);
  ScrapeRequest Request() const;
  void Tell(absl::Time at, absl::StatusOr<EngineReading> reading);

  const EngineTarget target_;
  const Sink sink_;
  const std::string tenant_;
  const Engine* const named_;             // null: whichever the page is of
  const std::vector<std::string> paths_;  // to try in turn
  std::atomic<bool> histograms_ = false;
  const Engine* engine_ = nullptr;  // recognised; null: not yet
  size_t path_ = 0;                 // of paths_: the one that is asked, or was good last
  size_t tried_ = 0;                // of paths_, in this poll
  std::optional<size_t> empty_;     // of paths_, in this poll: its page is
  bool asks_info_ = false;          // what it is
  absl::Status fault_;              // of this poll: of a page rather than of none
  bool is_fault_of_a_page_ = false;
};

}  // namespace gpuscaler
