#include "engine/scraped_group.h"

#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// A counter that is lower than before restarted (SeriesGrowth).
double GrowthTo(double now, double before) { return now < before ? now : now - before; }

}  // namespace

bool ScrapedGroup::SetAddresses(const absl::StatusOr<std::vector<std::string>>& addresses) {
  absl::Status listed = addresses.status();
  if (listed.ok() && addresses->size() > kMaxPages) {
    listed = absl::ResourceExhaustedError(
        absl::StrCat(addresses->size(), " addresses are more than ", kMaxPages, ": name fewer"));
  }
  const bool changed = std::exchange(listed_, listed) != listed;
  if (!listed.ok()) {
    if (changed) sum_.AddPoint(listed);
    return changed;
  }
  const std::set<std::string> all(addresses->begin(), addresses->end());
  const size_t gone = std::erase_if(pages_, [&](const auto& page) {
    const bool is_gone = !all.contains(page.first);
    if (is_gone) moved_requests_ += page.second.newest.value_or(0);
    return is_gone;
  });
  bool any_new = false;
  for (const std::string& address : all) any_new |= pages_.try_emplace(address, is_rate_).second;
  return changed || any_new || gone > 0;
}

bool ScrapedGroup::AddSample(const std::string& address,
                             const absl::StatusOr<CounterPoint>& point) {
  const auto found = pages_.find(address);
  if (found == pages_.end() || !listed_.ok()) return false;
  AddressState& page = found->second;
  page.failure = point.status();
  page.observed.AddPoint(point);
  if (point.ok()) {
    if (page.newest.has_value())
      grown_ += GrowthTo(point->value, *page.newest);
    else
      moved_requests_ -= point->value;
    page.newest = point->value;
    AddUp(point->instant.at);
  }
  if (const std::string why = Failures(); !why.empty()) sum_.AddPoint(absl::UnavailableError(why));
  return true;
}

void ScrapedGroup::AddUp(absl::Time at) {
  double sum = 0;
  for (const auto& [address, page] : pages_) {
    if (!page.failure.ok() || !page.newest.has_value()) return;
    sum += *page.newest;
  }
  sum_.AddPoint(CounterPoint{.instant = {.at = at}, .value = is_rate_ ? grown_ : sum});
  if (!is_rate_) AddHeld(at, sum);
}

void ScrapedGroup::AddHeld(absl::Time at, double sum) {
  if (at <= held_at_) return;
  if (held_at_ == absl::InfinitePast()) moved_requests_ = kInitiallyMoved;
  held_at_ = at;
  held_.Take({.at = at, .waiting = sum, .running = 0, .requests_done = moved_requests_});
}

std::string ScrapedGroup::Failures() const {
  constexpr size_t kNamed = 3;
  std::string failures;
  size_t count = 0;
  for (const auto& [address, page] : pages_) {
    if (page.failure.ok() || ++count > kNamed) continue;
    absl::StrAppend(&failures, failures.empty() ? "" : "; ", page.failure.message());
  }
  if (count > kNamed) absl::StrAppend(&failures, "; and ", count - kNamed, " more");
  return failures;
}

void ScrapedGroup::Forget(absl::Time before) {
  sum_.Forget(before);
  for (auto& [address, page] : pages_)
    page.observed.Forget(is_rate_ ? before : absl::InfiniteFuture());
}

size_t ScrapedGroup::Bytes() const {
  size_t bytes = sizeof(*this) + sum_.Bytes() + held_.Bytes();
  for (const auto& [address, page] : pages_) {
    bytes += sizeof(page) + address.size() + page.observed.Bytes() + page.failure.message().size();
  }
  return bytes;
}

SignalSeries ScrapedGroup::Answer(const EngineQuery& query, absl::Time now,
                                  absl::Duration max_gap) const {
  SignalSeries series = sum_.Answer(query, now, max_gap);
  if (query.demand_window > absl::ZeroDuration()) {
    const std::optional<EngineDemand> held = held_.Sums();
    if (held.has_value()) series.demand = std::make_shared<const EngineDemand>(*held);
  }
  for (const auto& [address, page] : pages_) {
    const SignalSeries part = page.observed.Answer(query, now, max_gap);
    SignalPart& reported =
        series.parts.emplace_back(SignalPart{.address = address, .error = part.error});
    if (part.error.empty()) reported.value = part.points.back().value;
  }
  return series;
}

}  // namespace gpuscaler
