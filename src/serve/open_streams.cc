#include "serve/open_streams.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

std::string AddressOf(absl::string_view peer) {
  if (absl::StartsWith(peer, "unix")) return "unix";
  return std::string(peer.substr(0, peer.rfind(':')));
}

}  // namespace

OpenStreams::OpenStreams(int max_per_peer, RequestMetrics& metrics)
    : max_per_peer_(max_per_peer), metrics_(metrics) {}

OpenStreams::~OpenStreams() {
  MutexLock lock(mutex_);
  while (!streams_.empty()) closed_.Wait(mutex_);
}

absl::Status OpenStreams::Open(Rpc rpc, absl::string_view peer, size_t bytes,
                               std::shared_ptr<OpenStream> stream) {
  const std::string address = AddressOf(peer);
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
  const auto found = streams_.find(stream);
  record = std::move(found->second);
  streams_.erase(found);
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

std::vector<std::shared_ptr<OpenStream>> OpenStreams::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<OpenStream>> all;
  all.reserve(streams_.size());
  for (const auto& entry : streams_) all.push_back(entry.second.stream);
  return all;
}

size_t OpenStreams::size() const {
  MutexLock lock(mutex_);
  return streams_.size();
}

void OpenStreams::Refresh(absl::Time now) {
  for (const auto& stream : All()) stream->Refresh(now);
}

void OpenStreams::RefreshDue(absl::Time now) {
  for (const auto& stream : All()) {
    if (stream->NextDue() <= now) stream->Refresh(now);
  }
}

void OpenStreams::End() {
  {
    MutexLock lock(mutex_);
    ended_ = true;
  }
  for (const auto& stream : All()) stream->End(absl::OkStatus());
}

}  // namespace gpuscaler
