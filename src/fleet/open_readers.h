// The streams of an agent's readers, which have a bounded number of places: aggregators come first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "fleet/peer_addresses.h"

namespace gpuscaler {

// Keeps streams until they have ended. `Base` is the type of the pointer with which a stream
// reports its end. Thread-safe.
template <typename Stream, typename Base>
class OpenReaders {
 public:
  struct Counts {
    int open = 0;
    int64_t refused_as_too_many = 0;  // and those that lost their place
    int64_t refused_as_stopping = 0;
  };

  // `aggregators` outlives it. Null: no address comes first.
  OpenReaders(int places, PeerAddresses* aggregators)
      : places_(places), aggregators_(aggregators) {}

  // Keeps the stream until Closed(), and returns it. Ends it with `refusal`, or with UNAVAILABLE
  // after Stop(). If all places are taken, ends another one that gives its place, or this one, with
  // RESOURCE_EXHAUSTED.
  std::shared_ptr<Stream> Open(std::shared_ptr<Stream> stream,
                               absl::Status refusal = absl::OkStatus()) {
    std::shared_ptr<Stream> displaced;
    {
      MutexLock lock(mutex_);
      if (refusal.ok()) refusal = CheckRoom(*stream, displaced);
      counts_.open += refusal.ok() ? 1 : 0;
      streams_[stream.get()] = {.stream = stream, .has_place = refusal.ok(), .number = ++opened_};
    }
    if (displaced != nullptr) {
      displaced->EndNow(TooMany("this one's was given to an aggregator, or to another address"));
    }
    if (refusal.ok()) return stream;
    stream->End(refusal);
    // A new aggregator may not be listed yet, and tries again.
    if (absl::IsResourceExhausted(refusal) && aggregators_ != nullptr) aggregators_->AskSoon();
    return stream;
  }

  void Closed(const Base* stream) {
    Record record;  // destroyed without the lock
    MutexLock lock(mutex_);
    const auto found = streams_.find(stream);
    record = std::move(found->second);
    streams_.erase(found);
    counts_.open -= record.has_place ? 1 : 0;
    if (streams_.empty()) closed_.NotifyAll();
  }

  // Ends all streams, now and from now on; those that are open with OK.
  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    for (const auto& stream : All()) stream->End(absl::OkStatus());
  }

  // After Stop(): until the last one has ended.
  void Wait() {
    MutexLock lock(mutex_);
    while (!streams_.empty()) closed_.Wait(mutex_);
  }

  std::vector<std::shared_ptr<Stream>> All() const {
    MutexLock lock(mutex_);
    std::vector<std::shared_ptr<Stream>> all;
    all.reserve(streams_.size());
    for (const auto& entry : streams_) all.push_back(entry.second.stream);
    return all;
  }

  Counts counts() const {
    MutexLock lock(mutex_);
    return counts_;
  }

 private:
  struct Record {
    std::shared_ptr<Stream> stream;
    bool has_place = false;
    int64_t number = 0;  // in the order in which they came
  };

  absl::Status CheckRoom(const Stream& newcomer, std::shared_ptr<Stream>& displaced)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stopping_) {
      ++counts_.refused_as_stopping;
      return absl::UnavailableError("the agent is stopping");
    }
    if (counts_.open < places_) return absl::OkStatus();
    ++counts_.refused_as_too_many;
    Record* const least = FindLeast(newcomer);
    if (least == nullptr) return TooMany("none of them comes after this one");
    least->has_place = false;
    --counts_.open;
    displaced = least->stream;
    return absl::OkStatus();
  }

  // Returns the reader that gives its place to the newcomer: one of the lowest rank, of the address
  // with the most places, the newest. Null: none does.
  Record* FindLeast(const Stream& newcomer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    absl::flat_hash_map<std::string, int> places;  // addresses and how many each has
    for (const auto& entry : streams_) {
      if (entry.second.has_place) ++places[entry.second.stream->peer()];
    }
    const auto order = [&](const Record& each) {
      return std::tuple(!each.has_place, RankOf(*each.stream), -places[each.stream->peer()],
                        -each.number);
    };
    const auto found = std::min_element(
        streams_.begin(), streams_.end(),
        [&](const auto& a, const auto& b) { return order(a.second) < order(b.second); });
    if (found == streams_.end() || !found->second.has_place) return nullptr;
    Record& least = found->second;
    const int own = RankOf(newcomer), lowest = RankOf(*least.stream);
    const bool shares = places[newcomer.peer()] == 0 && places[least.stream->peer()] > 1;
    return lowest < own || (lowest == own && shares) ? &least : nullptr;
  }

  // Readers of a higher rank come first: those with a certificate, then those that are aggregators
  // by their address.
  int RankOf(const Stream& stream) const {
    const bool is_listed = aggregators_ != nullptr && aggregators_->Lists(stream.peer());
    return (stream.has_certificate() ? 2 : 0) + (is_listed ? 1 : 0);
  }

  absl::Status TooMany(const std::string& why) const {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are places for ", places_, " readers, which are taken: ", why));
  }

  const int places_;
  PeerAddresses* const aggregators_;
  mutable Mutex mutex_;
  CondVar closed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t opened_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<const Base*, Record> streams_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
