#include "series/page_numbers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/plain_words.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// Addresses in one poll: others have their turn in the next one. Each may take 2 s to fail.
constexpr size_t kMostTried = 3;

bool IsRate(const SignalSource& source) { return std::get<MetricsPage>(source.place).rate; }

// Another address of the name may do better.
bool IsOfServer(const absl::Status& fault) {
  return absl::IsUnavailable(fault) || absl::IsDeadlineExceeded(fault);
}

}  // namespace

PageNumbers::PageNumbers(PageRequest request, absl::Duration longest_gap, Sink sink)
    : request_(std::move(request)), longest_gap_(longest_gap), sink_(std::move(sink)) {}

void PageNumbers::Want(const NumbersWish& wish) {
  MutexLock lock(mutex_);
  std::erase_if(picked_, [&](const auto& known) { return !wish.selectors.contains(known.first); });
  for (const auto& [source, selector] : wish.selectors) {
    const auto [added, is_new] = picked_.try_emplace(source);
    if (!is_new) continue;
    added->second.selector = selector;
    if (!IsRate(source)) continue;
    added->second.growth = std::make_unique<SeriesGrowth>(selector, longest_gap_);
  }
  if (wish.selectors.empty() || wish.addresses == addresses_) return;
  const auto known = choice_ < addresses_.size()
                         ? std::ranges::find(wish.addresses, addresses_[choice_])
                         : wish.addresses.end();
  const bool stays = known != wish.addresses.end();
  const auto choice = static_cast<size_t>(known - wish.addresses.begin());
  addresses_ = wish.addresses;
  if (stays) {
    choice_ = choice;
  } else {
    GoTo(0);
  }
}

std::string PageNumbers::Tenant() {
  MutexLock lock(mutex_);
  return picked_.empty() ? "" : picked_.begin()->first.namespace_name;
}

PageRequest PageNumbers::First() {
  MutexLock lock(mutex_);
  faults_.clear();
  asked_ = addresses_[choice_];
  return Request();
}

PageRequest PageNumbers::Request() const {
  PageRequest request = request_;
  request.address = asked_;
  return request;
}

// Another process is there, which has counted for itself.
void PageNumbers::GoTo(size_t choice) {
  choice_ = choice;
  for (auto& [source, picked] : picked_) {
    if (picked.growth != nullptr) picked.growth->BeginAnew();
  }
}

absl::StatusOr<CounterPoint> PageNumbers::NumberOf(Picked& picked, absl::Time at,
                                                   const absl::StatusOr<Page>& page) const {
  if (!page.ok()) return page.status();
  if (picked.growth != nullptr) return picked.growth->Take(at, page->body, page->format);
  ASSIGN_OR_RETURN(const double sum, SumOf(picked.selector, page->body, page->format));
  return CounterPoint{.instant = {.at = at}, .value = sum};
}

std::optional<PageRequest> PageNumbers::Take(absl::Time at, const absl::StatusOr<Page>& page) {
  MutexLock lock(mutex_);  // while it is told too: what is no longer wanted is not
  if (picked_.empty() || asked_ != addresses_[choice_]) return std::nullopt;
  absl::Status fault;
  if (IsOfServer(page.status())) {
    faults_.emplace_back(page.status().message());
    fault = absl::Status(page.status().code(), absl::StrJoin(faults_, "; "));
    const size_t tried = faults_.size();
    if (addresses_.size() > 1) GoTo((choice_ + 1) % addresses_.size());
    if (tried < std::min(addresses_.size(), kMostTried)) {
      asked_ = addresses_[choice_];
      return Request();
    }
  }
  for (auto& [source, picked] : picked_) {
    absl::StatusOr<CounterPoint> number =
        fault.ok() ? NumberOf(picked, at, page) : absl::StatusOr<CounterPoint>(fault);
    if (!number.ok() && page.ok()) {
      number = absl::Status(
          number.status().code(),
          absl::StrCat(Request().Place(), ": ", PlainWords(number.status().message())));
    }
    sink_(source, number);
  }
  return std::nullopt;
}

}  // namespace gpuscaler
