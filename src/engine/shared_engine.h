// All who read the server at one address: each of its pages is asked for once for all of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_reader.h"
#include "page/scrape_poller.h"

namespace gpuscaler {

// One trigger names the engine, another its page, a third neither: they try paths and judge pages
// each in its own way, and in the end it is the same page. What one of them still asks for when the
// others are done is asked for besides. A server that hangs does so for all of them.
class SharedEngine : public PolledTarget {
 public:
  // At least one, each of a target at that server; nobody else polls them.
  explicit SharedEngine(std::vector<std::shared_ptr<EngineReader>> readers)
      : readers_(std::move(readers)), asks_(readers_.size()) {}

  std::string Tenant() override { return readers_.front()->Tenant(); }
  ScrapeRequest First() override;
  std::optional<ScrapeRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) override;

 private:
  std::optional<ScrapeRequest> Next();

  const std::vector<std::shared_ptr<EngineReader>> readers_;
  std::vector<std::optional<ScrapeRequest>> asks_;  // of each reader; empty: done for this poll
  ScrapeRequest asked_;                             // that is on its way
};

}  // namespace gpuscaler
