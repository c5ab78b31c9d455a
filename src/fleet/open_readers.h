// The streams of an agent's readers. Their number is limited, and aggregators come first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fleet/address_rate_limit.h"
#include "fleet/peer_addresses.h"
#include "wire/server_call.h"

namespace gpuscaler {

// Limits for the streams of one method that an address opens. All readers of an agent may share an
// address, and an aggregator connects again after a second or more.
inline constexpr int kStreamsAtOnce = 64;
inline constexpr int kStreamsPerSecond = 2;

// Counts of the readers of one method.
struct ReaderCounts {
  int readers = 0;  // now
  int64_t messages = 0;
  int64_t heartbeats = 0;  // messages without a reading
  int64_t readings = 0;
  int64_t bytes = 0;                // size of the messages, without the overhead of gRPC and TCP
  int64_t refused_as_too_many = 0;  // or too often, and those that lost their place
  int64_t refused_as_stopping = 0;

  int64_t refused() const { return refused_as_too_many + refused_as_stopping; }
};

// Keeps streams until they have ended. Thread-safe.
template <typename Stream>
class OpenReaders {
 public:
  // Readers at an address of `aggregators` have a higher rank. Null: addresses do not count. Both
  // must outlive this object.
  OpenReaders(const Clock& clock, int places, PeerAddresses* aggregators)
      : clock_(clock), places_(places), aggregators_(aggregators) {}

  // Keeps the stream until Closed(), and returns it. Ends it with `refusal`, or with UNAVAILABLE
  // after Stop(), or with RESOURCE_EXHAUSTED if its address opens too many. If all places are
  // taken, ends the reader with the lowest priority with RESOURCE_EXHAUSTED: another one, or this
  // one.
  std::shared_ptr<Stream> Open(std::shared_ptr<Stream> stream,
                               absl::Status refusal = absl::OkStatus()) {
    std::shared_ptr<Stream> displaced;
    {
      MutexLock lock(mutex_);
      if (refusal.ok()) refusal = CheckRoom(*stream, displaced);
      if (refusal.ok()) {
        readers_.push_back(stream);
      } else {
        ending_[stream.get()] = stream;
      }
    }
    if (displaced != nullptr) {
      displaced->EndNow(TooMany("this one's was given to an aggregator, or to another address"));
    }
    if (refusal.ok()) return stream;
    stream->End(refusal);
    // A new aggregator may not be listed yet, and tries again.
    if (absl::IsResourceExhausted(refusal) && aggregators_ != nullptr) aggregators_->ResolveSoon();
    return stream;
  }

  void Closed(const ServerCall::Handler* stream) {
    std::shared_ptr<Stream> closed;  // destroyed without the lock
    MutexLock lock(mutex_);
    if (const auto ending = ending_.extract(stream)) {
      closed = ending.mapped();
    } else {
      const auto reader = std::ranges::find_if(
          readers_, [stream](const auto& each) { return each.get() == stream; });
      closed = std::move(*reader);
      readers_.erase(reader);
    }
    if (AreAllClosed()) closed_.NotifyAll();
  }

  // Ends all streams, now and from now on; open ones with OK.
  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    for (const auto& stream : Readers()) stream->End(absl::OkStatus());
  }

  // Blocks until the last stream has ended. Requires Stop().
  void Wait() {
    MutexLock lock(mutex_);
    while (!AreAllClosed()) closed_.Wait(mutex_);
  }

  std::vector<std::shared_ptr<Stream>> Readers() const {
    MutexLock lock(mutex_);
    return readers_;
  }

  // Returns 0 to 3: a reader gets 2 for a certificate, and 1 for the address of an aggregator. If
  // all places are taken, readers of a higher rank displace others.
  int RankOf(const Stream& stream) const {
    const bool is_listed = aggregators_ != nullptr && aggregators_->Lists(stream.peer());
    return (stream.has_certificate() ? 2 : 0) + (is_listed ? 1 : 0);
  }

  ReaderCounts counts() const {
    MutexLock lock(mutex_);
    ReaderCounts counts = counts_;
    counts.readers = Open();
    return counts;
  }

 private:
  int Open() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return static_cast<int>(readers_.size());
  }

  bool AreAllClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return readers_.empty() && ending_.empty();
  }

  absl::Status CheckRoom(const Stream& newcomer, std::shared_ptr<Stream>& displaced)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stopping_) {
      ++counts_.refused_as_stopping;
      return absl::UnavailableError("the agent is stopping");
    }
    if (!rate_limit_.Take(newcomer.peer(), clock_.Now())) {
      ++counts_.refused_as_too_many;
      return absl::ResourceExhaustedError(absl::StrCat("an address may open ", kStreamsAtOnce,
                                                       " streams at once, then ", kStreamsPerSecond,
                                                       " per second: connect again later"));
    }
    if (Open() < places_) return absl::OkStatus();
    ++counts_.refused_as_too_many;
    displaced = FindLeast(newcomer);
    if (displaced == nullptr) return TooMany("none of them comes after this one");
    std::erase(readers_, displaced);
    ending_[displaced.get()] = displaced;
    return absl::OkStatus();
  }

  // Returns the reader that loses its place to the newcomer; null: none. Candidates have the lowest
  // rank; of these the address with the most places, and there the newest.
  std::shared_ptr<Stream> FindLeast(const Stream& newcomer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Read before the other ranks: an address that becomes listed after this cannot displace
    // another aggregator.
    const int own = RankOf(newcomer);
    absl::flat_hash_map<std::string, int> places;  // places by address
    for (const auto& reader : readers_) ++places[reader->peer()];
    const auto order = [&](const std::shared_ptr<Stream>& reader) {
      return std::pair(RankOf(*reader), -places[reader->peer()]);
    };
    // The first of several from the end, which is the newest.
    const auto found =
        std::min_element(readers_.rbegin(), readers_.rend(),
                         [&](const auto& a, const auto& b) { return order(a) < order(b); });
    if (found == readers_.rend()) return nullptr;
    const std::shared_ptr<Stream>& least = *found;
    const int lowest = RankOf(*least);
    const bool shares = places[newcomer.peer()] == 0 && places[least->peer()] > 1;
    return lowest < own || (lowest == own && shares) ? least : nullptr;
  }

  absl::Status TooMany(const std::string& why) const {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are places for ", places_, " readers, which are taken: ", why));
  }

  const Clock& clock_;
  const int places_;
  PeerAddresses* const aggregators_;
  mutable Mutex mutex_;
  CondVar closed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  AddressRateLimit rate_limit_ ABSL_GUARDED_BY(mutex_){kStreamsAtOnce, kStreamsPerSecond};
  // In the order of arrival.
  std::vector<std::shared_ptr<Stream>> readers_ ABSL_GUARDED_BY(mutex_);
  // Streams without a place, until their status has been sent: any number.
  absl::flat_hash_map<const ServerCall::Handler*, std::shared_ptr<Stream>> ending_
      ABSL_GUARDED_BY(mutex_);
  ReaderCounts counts_ ABSL_GUARDED_BY(mutex_);  // refusals only
};

}  // namespace gpuscaler
