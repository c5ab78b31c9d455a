// All readers of the server at one address. Each poll requests each path once for all of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_reader.h"
#include "page/scrape_poller.h"

namespace gpuscaler {

// Triggers may name the engine, its path, or neither. Their readers try paths in their own order
// and interpret the response in their own way, but mostly need the same one. A request that only
// some readers need is sent as well. If the server times out, it does so for all readers.
class SharedEnginePoll : public PolledTarget {
 public:
  // At least one reader, each with a target at that server. Nothing else may poll them.
  explicit SharedEnginePoll(std::vector<std::shared_ptr<EngineReader>> readers)
      : readers_(std::move(readers)), requests_(readers_.size()) {}

  std::string Tenant() override { return readers_.front()->Tenant(); }
  ScrapeRequest FirstRequest() override;
  std::optional<ScrapeRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) override;

 private:
  std::optional<ScrapeRequest> Next();

  const std::vector<std::shared_ptr<EngineReader>> readers_;
  std::vector<std::optional<ScrapeRequest>> requests_;  // one per reader; empty: done for this poll
  ScrapeRequest requested_;                             // the newest
};

}  // namespace gpuscaler
