#include "serve/open_streams.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// A stream that has just been refreshed can wait so long, whatever it says.
constexpr absl::Duration kShortestPause = absl::Milliseconds(10);

// A decision of a large workload takes half a millisecond.
constexpr size_t kDueAtOnce = 8;

}  // namespace

OpenStreams::OpenStreams(int max_per_peer, const FleetReader& fleets, RequestMetrics& metrics)
    : max_per_peer_(max_per_peer), fleets_(fleets), metrics_(metrics) {}

OpenStreams::~OpenStreams() {
  MutexLock lock(mutex_);
  while (!streams_.empty()) closed_.Wait(mutex_);
}

absl::Status OpenStreams::Open(Rpc rpc, absl::string_view peer, size_t bytes,
                               std::shared_ptr<OpenStream> stream) {
  const std::string address(peer);
  const OpenStream* const key = stream.get();
  MutexLock lock(mutex_);
  Record& record = streams_[key];
  record = {.stream = std::move(stream), .rpc = rpc};
  RETURN_IF_ERROR(CheckRoom(address, bytes));
  record.peer = address;
  record.bytes = bytes;
  bytes_ += bytes;
  Count(rpc, address, 1);
  return absl::OkStatus();
}

void OpenStreams::Watch(const OpenStream* stream, const StreamInterest& interest) {
  MutexLock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  if (interest.version < found->second.interest.version) return;
  Unwatch(stream, std::exchange(found->second.interest, interest));
  SetWatching(stream, interest.pods);
  if (interest.all_nodes) watching_all_.insert(stream);
  for (const SignalSource& source : interest.sources) watching_sources_[source].insert(stream);
  SetDue(stream, absl::InfinitePast());
}

void OpenStreams::SetWatching(const OpenStream* stream, const PodInterest& wanted) {
  const bool knows = fleets_.Knows(wanted);
  for (const std::string& name : wanted.namespaces) {
    watching_[{name, wanted.owner}].insert(stream);
    if (knows) {
      Unwatch(stream, PodsOf{name, ""});
    } else {
      watching_[{name, ""}].insert(stream);
    }
  }
}

void OpenStreams::Unwatch(const OpenStream* stream, const StreamInterest& interest) {
  watching_all_.erase(stream);
  for (const SignalSource& source : interest.sources) {
    const auto watching = watching_sources_.find(source);
    if (watching == watching_sources_.end()) continue;
    watching->second.erase(stream);
    if (watching->second.empty()) watching_sources_.erase(watching);
  }
  for (const std::string& name : interest.pods.namespaces) {
    Unwatch(stream, PodsOf{name, interest.pods.owner});
    Unwatch(stream, PodsOf{name, ""});
  }
}

void OpenStreams::Unwatch(const OpenStream* stream, const PodsOf& pods) {
  const auto watching = watching_.find(pods);
  if (watching == watching_.end()) return;
  watching->second.erase(stream);
  if (watching->second.empty()) watching_.erase(watching);
}

absl::Status OpenStreams::CheckRoom(const std::string& peer, size_t bytes) const {
  if (ended_) return absl::UnavailableError("the scaler is stopping");
  const auto of_peer = per_peer_.find(peer);
  if (of_peer != per_peer_.end() && of_peer->second >= max_per_peer_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this address has ", of_peer->second,
                     " streams open, --max-streams-per-peer=", max_per_peer_));
  }
  if (bytes <= kMostBytes - bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("all streams together hold ", bytes_,
                                                   " bytes of metadata, at most ", kMostBytes));
}

void OpenStreams::Closed(const OpenStream* stream, absl::StatusCode code) {
  Record record;
  MutexLock lock(mutex_);
  SetDue(stream, absl::InfiniteFuture());
  const auto found = streams_.find(stream);
  record = std::move(found->second);
  streams_.erase(found);
  Unwatch(stream, record.interest);
  bytes_ -= record.bytes;
  metrics_.Answered(record.rpc, code, absl::ZeroDuration());
  if (!record.peer.empty()) Count(record.rpc, record.peer, -1);
  if (streams_.empty()) closed_.NotifyAll();
}

void OpenStreams::Count(Rpc rpc, const std::string& peer, int by) {
  int& of_peer = per_peer_[peer];
  of_peer += by;
  if (of_peer == 0) per_peer_.erase(peer);
  metrics_.StreamsOpen(rpc, per_rpc_[rpc] += by);
}

OpenStreams::Streams OpenStreams::All() const {
  MutexLock lock(mutex_);
  Streams all;
  all.reserve(streams_.size());
  for (const auto& entry : streams_) all.push_back(entry.second.stream);
  return all;
}

void OpenStreams::SetDue(const OpenStream* stream, absl::Time due) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  absl::Time& known = found->second.due;
  if (due == known) return;
  if (known != absl::InfiniteFuture()) due_.erase({known, stream});
  if (due != absl::InfiniteFuture()) due_.emplace(due, stream);
  known = due;
}

// A stream's locks are taken outside ours.
void OpenStreams::Call(void (OpenStream::*what)(absl::Time), const Streams& streams,
                       absl::Time now) {
  for (const auto& stream : streams) {
    (stream.get()->*what)(now);
    const absl::Time due = std::max(stream->NextDue(), now + kShortestPause);
    MutexLock lock(mutex_);
    SetDue(stream.get(), due);
  }
}

void OpenStreams::RefreshAll(absl::Time now) {
  const Streams all = All();
  for (const auto& stream : all) Watch(stream.get(), stream->interest());
  Call(&OpenStream::Refresh, all, now);
}

void OpenStreams::RefreshChanged(const FleetReader::Changes& changes, absl::Time now) {
  Streams streams;
  {
    MutexLock lock(mutex_);
    absl::flat_hash_set<const OpenStream*> concerned = watching_all_;
    if (changes.of_all) {
      for (const auto& [pods, watching] : watching_) {
        concerned.insert(watching.begin(), watching.end());
      }
    }
    for (const PodsOf& pods : changes.pods) {
      const auto watching = watching_.find(pods);
      if (watching == watching_.end()) continue;
      concerned.insert(watching->second.begin(), watching->second.end());
    }
    for (const OpenStream* stream : concerned) {
      const Record& record = streams_.at(stream);
      streams.push_back(record.stream);
      if (record.interest.pods.or_whoevers) SetWatching(stream, record.interest.pods);
    }
  }
  Call(&OpenStream::Changed, streams, now);
}

void OpenStreams::RefreshChanged(const std::vector<SignalSource>& sources, absl::Time now) {
  Streams streams;
  {
    MutexLock lock(mutex_);
    for (const SignalSource& source : sources) {
      const auto watching = watching_sources_.find(source);
      if (watching == watching_sources_.end()) continue;
      for (const OpenStream* stream : watching->second) {
        streams.push_back(streams_.at(stream).stream);
      }
    }
  }
  Call(&OpenStream::Changed, streams, now);
}

bool OpenStreams::WatchSources() const {
  MutexLock lock(mutex_);
  return !watching_sources_.empty();
}

void OpenStreams::RefreshDue(absl::Time now) {
  Streams streams;
  {
    MutexLock lock(mutex_);
    for (const auto& [due, stream] : due_) {
      if (due > now || streams.size() == kDueAtOnce) break;
      streams.push_back(streams_.at(stream).stream);
    }
  }
  Call(&OpenStream::Refresh, streams, now);
}

absl::Time OpenStreams::NextDue() const {
  MutexLock lock(mutex_);
  return due_.empty() ? absl::InfiniteFuture() : due_.begin()->first;
}

void OpenStreams::End() {
  {
    MutexLock lock(mutex_);
    ended_ = true;
  }
  for (const auto& stream : All()) stream->End(absl::OkStatus());
}

}  // namespace gpuscaler
