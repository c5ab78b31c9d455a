#include "series/page_numbers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/plain_words.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

const MetricsPage& PageOf(const SignalSource& source) {
  return std::get<MetricsPage>(source.place);
}

}  // namespace

PageNumbers::PageNumbers(PageRequest request, absl::Duration longest_gap, Sink sink)
    : request_(std::move(request)), longest_gap_(longest_gap), sink_(std::move(sink)) {}

void PageNumbers::Want(const NumbersWish& wish) {
  MutexLock lock(mutex_);
  std::erase_if(picked_, [&](const auto& known) { return !wish.contains(known.first); });
  for (const auto& [source, selector] : wish) {
    const auto [added, is_new] = picked_.try_emplace(source);
    if (!is_new) continue;
    const IfAbsent if_absent = PageOf(source).zero_if_absent ? IfAbsent::kZero : IfAbsent::kError;
    added->second.selector = selector;
    added->second.if_absent = if_absent;
    if (!PageOf(source).rate) continue;
    added->second.growth = std::make_unique<SeriesGrowth>(selector, longest_gap_, if_absent);
  }
}

std::string PageNumbers::Tenant() {
  MutexLock lock(mutex_);
  return picked_.empty() ? "" : picked_.begin()->first.namespace_name;
}

absl::StatusOr<CounterPoint> PageNumbers::NumberOf(Picked& picked, absl::Time at,
                                                   const absl::StatusOr<Page>& page) const {
  if (!page.ok()) return page.status();
  if (picked.growth != nullptr) return picked.growth->Take(at, page->body, page->format);
  ASSIGN_OR_RETURN(const double sum,
                   SumOf(picked.selector, page->body, page->format, picked.if_absent));
  return CounterPoint{.instant = {.at = at}, .value = sum};
}

std::optional<PageRequest> PageNumbers::Take(absl::Time at, const absl::StatusOr<Page>& page) {
  MutexLock lock(mutex_);  // while it is told too: what is no longer wanted is not
  for (auto& [source, picked] : picked_) {
    absl::StatusOr<CounterPoint> number = NumberOf(picked, at, page);
    if (!number.ok() && page.ok()) {
      number =
          absl::Status(number.status().code(),
                       absl::StrCat(request_.Place(), ": ", PlainWords(number.status().message())));
    }
    sink_(source, request_.address, number);
  }
  return std::nullopt;
}

}  // namespace gpuscaler
