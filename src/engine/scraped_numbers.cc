#include "engine/scraped_numbers.h"

#include <utility>

#include "base/status_macros.h"

namespace gpuscaler {
namespace {

const MetricsEndpoint& PageOf(const SignalSource& source) {
  return std::get<MetricsEndpoint>(source.target);
}

}  // namespace

ScrapedNumbers::ScrapedNumbers(ScrapeRequest request, absl::Duration max_gap, Sink sink)
    : request_(std::move(request)), longest_gap_(max_gap), sink_(std::move(sink)) {}

void ScrapedNumbers::SetInterest(const NumbersInterest& interest) {
  MutexLock lock(mutex_);
  std::erase_if(picked_, [&](const auto& known) { return !interest.contains(known.first); });
  for (const auto& [source, selector] : interest) {
    std::shared_ptr<Picked>& picked = picked_[source];
    if (picked != nullptr) continue;
    picked = std::make_shared<Picked>();
    picked->selector = selector;
    picked->zero_if_absent = PageOf(source).zero_if_absent;
    picked->tenant = source.namespace_name;
    if (PageOf(source).rate) {
      picked->growth = std::make_unique<SeriesGrowth>(selector.text, longest_gap_);
    }
    if (!newest_.ok()) sink_(source, request_.server.address, newest_);
  }
}

std::string ScrapedNumbers::Tenant() {
  MutexLock lock(mutex_);
  return picked_.empty() ? "" : picked_.begin()->first.namespace_name;
}

SeriesConsumer& ScrapedNumbers::Picked::consumer() {
  if (growth != nullptr) return *growth;
  return sum;
}

absl::StatusOr<CounterPoint> ScrapedNumbers::Picked::NumberAt(absl::Time at) {
  if (growth != nullptr) return growth->GrownBy(at);
  ASSIGN_OR_RETURN(const double value, sum.Sum(selector));
  return CounterPoint{.instant = {.at = at}, .value = value};
}

std::vector<std::shared_ptr<ScrapedNumbers::Picked>> ScrapedNumbers::AllPicked() {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Picked>> all;
  all.reserve(picked_.size());
  for (const auto& [source, picked] : picked_) all.push_back(picked);
  return all;
}

// Holds no lock: a large exposition takes a while, and SetInterest() must not wait for it.
void ScrapedNumbers::Read(absl::Time at, const Page& page) {
  const std::vector<std::shared_ptr<Picked>> all = AllPicked();
  std::vector<SeriesQuery> queries;
  queries.reserve(all.size());
  for (const std::shared_ptr<Picked>& picked : all) {
    queries.push_back({.selector = &picked->selector,
                       .consumer = &picked->consumer(),
                       .zero_if_absent = picked->zero_if_absent,
                       .tenant = picked->tenant});
  }
  const std::vector<absl::Status> read = ReadSeries(page.body, page.format, queries);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i]->number = read[i].ok() ? all[i]->NumberAt(at) : read[i];
    all[i]->consumer().Begin();  // frees the samples
  }
}

std::optional<ScrapeRequest> ScrapedNumbers::Take(absl::Time at, const absl::StatusOr<Page>& page) {
  if (page.ok()) Read(at, *page);
  MutexLock lock(mutex_);  // held during `sink_`, so that removed sources get no result
  newest_ = page.status();
  for (auto& [source, picked] : picked_) {
    if (!page.ok()) {
      sink_(source, request_.server.address, page.status());
    } else if (picked->number.has_value()) {  // not for sources added while it was read
      const absl::StatusOr<CounterPoint> number = *std::exchange(picked->number, std::nullopt);
      sink_(source, request_.server.address,
            number.ok() ? number : request_.AtPlace(number.status()));
    }
  }
  return std::nullopt;
}

}  // namespace gpuscaler
