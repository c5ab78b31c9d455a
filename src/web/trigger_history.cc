#include "web/trigger_history.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {
namespace {

// How long an explanation that stays the same but for its ages is not kept again.
constexpr absl::Duration kLongestSame = absl::Minutes(5);
// std::map adds them to each element: a color and three pointers.
constexpr size_t kNodeBytes = 32;

bool IsUnit(char letter) { return letter == 'h' || letter == 'm' || letter == 's'; }

// Returns the length of the duration that `text` begins with, such as "1m30s" or "200ms"; 0: none.
size_t DurationLength(absl::string_view text) {
  size_t length = 0;
  while (true) {
    size_t end = length;
    while (end < text.size() && (absl::ascii_isdigit(text[end]) || text[end] == '.')) ++end;
    size_t unit_end = end;
    while (unit_end < text.size() && IsUnit(text[unit_end])) ++unit_end;
    if (end == length || unit_end == end) break;
    length = unit_end;
  }
  return length < text.size() && absl::ascii_isalnum(text[length]) ? 0 : length;
}

// Returns the text with "#" in place of each duration.
std::string WithoutAges(absl::string_view text) {
  std::string without;
  bool is_in_word = false;
  while (!text.empty()) {
    const size_t length = is_in_word ? 0 : DurationLength(text);
    without += length > 0 ? '#' : text.front();
    is_in_word = absl::ascii_isalnum(text.front());
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return without;
}

// Two explanations that differ only in ages have the same fingerprint.
size_t FingerprintOfExplanation(gpuscaler::v1::Explanation explanation) {
  explanation.clear_text();  // repeats the other fields
  explanation.clear_snapshot_age_seconds();
  const auto clear_ages = [](std::string& text) { text = WithoutAges(text); };
  clear_ages(*explanation.mutable_message());
  clear_ages(*explanation.mutable_active_because());
  clear_ages(*explanation.mutable_held_because());
  for (std::string& note : *explanation.mutable_notes()) clear_ages(note);
  for (auto& share : *explanation.mutable_shares()) clear_ages(*share.mutable_because());
  for (auto& node : *explanation.mutable_nodes()) node.clear_age_seconds();
  return absl::HashOf(explanation.SerializeAsString());
}

std::string TitleOf(const TriggerKey& key) {
  return absl::StrCat(key.namespace_name, "/", key.scaled_object, " (", key.trigger, ")");
}

std::string TimeTextOf(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace

TriggerKey KeyOf(const LiveTrigger& live) {
  return {.namespace_name = live.namespace_name,
          .scaled_object = live.scaled_object,
          .trigger = live.name};
}

TriggerHistory::TriggerHistory(const Options& options, absl::Time started_at)
    : options_(options), started_at_(started_at), ring_(options.explanation_bytes) {}

size_t TriggerHistory::BytesOf(const TriggerKey& key, const Recorded& recorded) {
  return kNodeBytes + sizeof(key) + sizeof(recorded) + key.namespace_name.capacity() +
         key.scaled_object.capacity() + key.trigger.capacity() + recorded.points.bytes();
}

void TriggerHistory::Record(const TriggerKey& key, const HistoryPoint& point) {
  MutexLock lock(mutex_);
  if (point.at == full_at_ && !triggers_.contains(key)) return;
  const auto [entry, is_new] = triggers_.try_emplace(key);
  Recorded& recorded = entry->second;
  const absl::Duration since_last = is_new ? kHistoryStep : point.at - recorded.points.last_at();
  if (since_last < kHistoryStep) return;
  const size_t before = is_new ? 0 : BytesOf(entry->first, recorded);
  recorded.points.Append(point);
  point_bytes_ += BytesOf(entry->first, recorded) - before;
  MakeRoom(entry, point.at, is_new);
}

// `entry` has a new point.
void TriggerHistory::MakeRoom(TriggerMap::iterator entry, absl::Time at, bool is_new) {
  const size_t room = is_new ? options_.point_bytes / 4 * 3 : options_.point_bytes;
  while (point_bytes_ > room) {
    absl::Time oldest = absl::InfiniteFuture();
    for (const auto& [other, of_other] : triggers_) {
      oldest = std::min(oldest, of_other.points.first_at());
    }
    const bool has_past_hour = oldest + absl::Hours(1) <= at;
    if (has_past_hour && point_bytes_ <= options_.point_bytes) return;
    if (!has_past_hour) {
      full_at_ = at;
      point_bytes_ -= BytesOf(entry->first, entry->second);
      triggers_.erase(entry);
      return;
    }
    DropBefore(oldest + absl::Hours(1));
  }
}

void TriggerHistory::DropBefore(absl::Time time) {
  for (auto entry = triggers_.begin(); entry != triggers_.end();) {
    Recorded& recorded = entry->second;
    point_bytes_ -= BytesOf(entry->first, recorded);
    recorded.points.DropBefore(time);
    if (recorded.points.empty()) {
      entry = triggers_.erase(entry);
    } else {
      point_bytes_ += BytesOf(entry->first, recorded);
      ++entry;
    }
  }
}

void TriggerHistory::RecordExplanation(const TriggerKey& key, absl::Time at,
                                       const gpuscaler::v1::Explanation& explanation) {
  const size_t fingerprint = FingerprintOfExplanation(explanation);
  MutexLock lock(mutex_);
  const auto entry = triggers_.find(key);
  if (entry == triggers_.end()) return;
  Recorded& recorded = entry->second;
  const bool is_same =
      fingerprint == recorded.fingerprint && at - recorded.explained_at < kLongestSame;
  if (is_same || at <= recorded.explained_at) return;
  recorded.fingerprint = fingerprint;
  recorded.explained_at = at;
  recorded.first_explained_at = std::min(recorded.first_explained_at, at);
  ring_.Append(at, explanation.SerializeAsString(), recorded.explanations);
}

void TriggerHistory::Expire(absl::Time now) {
  MutexLock lock(mutex_);
  DropBefore(now - options_.keep);
  ring_.DropBefore(now - options_.keep);
}

std::vector<TriggerKey> TriggerHistory::Triggers() const {
  MutexLock lock(mutex_);
  std::vector<TriggerKey> keys;
  for (const auto& [key, recorded] : triggers_) keys.push_back(key);
  return keys;
}

absl::StatusOr<TriggerSeries> TriggerHistory::Read(const TriggerKey& key, absl::Time from,
                                                   absl::Time to) const {
  MutexLock lock(mutex_);
  const auto entry = triggers_.find(key);
  if (entry == triggers_.end()) {
    return absl::NotFoundError(
        absl::StrCat("nothing is recorded of ", TitleOf(key), " since ", TimeTextOf(started_at_)));
  }
  const PointLog& points = entry->second.points;
  const absl::Duration farthest = options_.keep + absl::Hours(2);
  return TriggerSeries{.since = points.first_at(),
                       .points = points.Read(std::max(from, points.last_at() - farthest),
                                             std::min(to, points.last_at() + farthest))};
}

absl::StatusOr<PastExplanation> TriggerHistory::ExplanationAt(const TriggerKey& key,
                                                              absl::Time at) const {
  MutexLock lock(mutex_);
  const auto entry = triggers_.find(key);
  if (entry == triggers_.end() || at < entry->second.first_explained_at) {
    return absl::NotFoundError(
        absl::StrCat("there is no explanation of ", TitleOf(key), " at ", TimeTextOf(at),
                     ": it was not requested by then, or this process has recorded only since ",
                     TimeTextOf(started_at_)));
  }
  const ExplanationRing::Chain& chain = entry->second.explanations;
  const auto found = ring_.FindAt(chain, at);
  PastExplanation past;
  if (found.has_value() && past.explanation.ParseFromString(found->text)) {
    past.at = found->at;
    return past;
  }
  const std::vector<absl::Time> kept =
      ring_.Times(chain, absl::InfinitePast(), absl::InfiniteFuture());
  return absl::OutOfRangeError(absl::StrCat(
      "the explanation of ", TitleOf(key), " at ", TimeTextOf(at), " is gone: ",
      kept.empty() ? "none is kept"
                   : absl::StrCat("the oldest that is kept is of ", TimeTextOf(kept.front()))));
}

std::vector<absl::Time> TriggerHistory::ExplanationTimes(const TriggerKey& key, absl::Time from,
                                                         absl::Time to) const {
  MutexLock lock(mutex_);
  const auto entry = triggers_.find(key);
  if (entry == triggers_.end()) return {};
  return ring_.Times(entry->second.explanations, from, to);
}

size_t TriggerHistory::bytes() const {
  MutexLock lock(mutex_);
  return point_bytes_ + ring_.bytes();
}

}  // namespace gpuscaler
