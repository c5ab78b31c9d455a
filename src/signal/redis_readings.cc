#include "signal/redis_readings.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/jitter.h"
#include "page/http_endpoint.h"

namespace gpuscaler {
namespace {

absl::Status AtPlace(const ServerAddress& place, const absl::Status& status) {
  return {status.code(), absl::StrCat(HostAndPort(place.host, place.port), " (",
                                      IpAddressText(place.address), "): ", status.message())};
}

// Parses "10.1.2.3:6379", or "::1:6379" for IPv6. Without a host, `same` is the address.
std::optional<std::pair<IpAddress, int>> NodeOf(absl::string_view text, const IpAddress& same) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  const std::optional<IpAddress> address =
      colon == 0 ? same : ParseIpAddress(text.substr(0, colon));
  int port = 0;
  const bool has_port = absl::SimpleAtoi(text.substr(colon + 1), &port);
  if (!address.has_value() || !has_port || port < 1 || port > 65535) return std::nullopt;
  return std::pair(*address, port);
}

// An undecodable reply costs its connection and up to 4 MiB, so it is requested seldom.
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kMaxPause = absl::Seconds(30);

// Retry interval; other connections may have closed.
constexpr absl::Duration kRetryWithoutRoom = absl::Seconds(1);

absl::Status NoRoom(absl::string_view owner, size_t connections) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "not read: ", owner, " has ", connections,
      " connections to Redis, and no more: one for each address, redisDatabase and user"));
}

// Returns true if another address of the host may work.
bool IsServerFault(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

RedisLimits WithinOpenFiles(RedisLimits limits, size_t open_files) {
  constexpr size_t kFilesOfConnection = 3;
  const size_t most = std::max(open_files / 4 / kFilesOfConnection, size_t{1});
  limits.max_connections = std::min(limits.max_connections, most);
  limits.max_per_namespace = std::min(limits.max_per_namespace, std::max(most / 4, size_t{1}));
  return limits;
}

RedisReadings::RedisReadings(const EndpointRules& rules, const RedisLimits& limits,
                             std::shared_ptr<ResponseMemory> response_memory)
    : rules_(rules), limits_(limits), response_memory_(std::move(response_memory)) {}

void RedisReadings::Replace(std::vector<RedisTarget> targets) {
  Queues wanted;
  for (RedisTarget& target : targets) {
    Queues::node_type current = queues_.extract(target.source);
    if (current.empty()) {
      wanted[target.source].target = std::move(target);
    } else {
      Update(wanted.insert(std::move(current)).position->second, std::move(target));
    }
  }
  for (auto& [source, queue] : queues_) Reset(queue);
  queues_ = std::move(wanted);
}

// Keeps the current address if the host still has it.
void RedisReadings::Update(Queue& queue, RedisTarget target) {
  RedisTarget& current = queue.target;
  if (current.server == target.server && current.addresses == target.addresses) return;
  Reset(queue);
  size_t choice = 0;
  for (size_t i = 0; i < target.addresses.size() && !current.addresses.empty(); ++i) {
    if (target.addresses[i] == current.addresses[queue.choice]) choice = i;
  }
  queue.choice = choice;
  current = std::move(target);
}

// Drops the reading in progress and the state of the queue.
void RedisReadings::Reset(Queue& queue) {
  if (queue.pending != nullptr) queue.pending->of = nullptr;
  Detach(queue);
  queue.pending.reset();
  queue.moved.reset();
  queue.is_suspect = false;
  queue.pause = absl::ZeroDuration();
  queue.marks = std::make_shared<RedisReadMarks>();
  queue.due = absl::InfinitePast();
}

void RedisReadings::Detach(Queue& queue) {
  if (queue.at != nullptr) --queue.at->second.queues;
  queue.at = nullptr;
}

RedisServer RedisReadings::ServerOf(const Queue& queue) {
  RedisServer server = queue.target.server;
  server.tenant = queue.target.source.namespace_name;
  server.place.address = queue.target.addresses[queue.choice];
  if (queue.moved.has_value()) std::tie(server.place.address, server.place.port) = *queue.moved;
  return server;
}

// A server without a queue is about to be erased, or has no connection.
absl::Status RedisReadings::CheckRoomFor(const RedisServer& wanted) const {
  const auto current = servers_.find(wanted);
  if (current != servers_.end() && current->second.queues > 0) return absl::OkStatus();
  size_t all = 0;
  size_t own = 0;
  for (const auto& [at, server] : servers_) {
    if (server.queues == 0) continue;
    ++all;
    if (at.tenant == wanted.tenant) ++own;
  }
  if (own >= limits_.max_per_namespace) {
    return NoRoom(absl::StrCat("namespace ", wanted.tenant), own);
  }
  return all >= limits_.max_connections ? NoRoom("the scaler", all) : absl::OkStatus();
}

void RedisReadings::Start(Queue& queue, absl::Time deadline, bool redirected, absl::Time now) {
  Detach(queue);
  const RedisServer wanted = ServerOf(queue);
  if (const absl::Status room = CheckRoomFor(wanted); !room.ok()) {
    queue.due = now + kRetryWithoutRoom;
    results_.push_back({.source = queue.target.source, .length = AtPlace(wanted.place, room)});
    return;
  }
  const auto [found, is_new] = servers_.try_emplace(wanted, wanted, response_memory_);
  Server& server = found->second;
  if (is_new) server.phase = now + limits_.interval * Jitter(0.0, 1.0);
  ++server.queues;
  queue.at = &*found;
  queue.due = NextDue(server, now);
  queue.pending = std::make_shared<PendingQuery>();
  queue.pending->queue = std::get<RedisQueue>(queue.target.source.target);
  queue.pending->deadline = deadline;
  queue.pending->timeout = limits_.timeout;
  queue.pending->marks = queue.marks;
  queue.pending->of = &queue;
  queue.pending->redirected = redirected;
  server.session.Start(queue.pending, now);
  server.ready = true;
}

void RedisReadings::StartDue(bool of_suspects, absl::Time now) {
  for (auto& [source, queue] : queues_) {
    if (queue.target.addresses.empty() || queue.pending != nullptr || queue.due > now) continue;
    if (queue.is_suspect != of_suspects) continue;
    Start(queue, now + limits_.timeout, /*redirected=*/false, now);
  }
}

std::vector<RedisReading> RedisReadings::Advance(absl::Time now) {
  StartDue(/*of_suspects=*/false, now);
  StartDue(/*of_suspects=*/true, now);
  for (auto& [place, server] : servers_) {
    if (!server.ready && server.session.WakeAt(now) > now) continue;
    server.ready = false;
    for (const auto& finished : server.session.Advance(now)) {
      Take(static_cast<const PendingQuery&>(*finished), now);
    }
    if (server.session.HasMore()) server.ready = true;
  }
  EraseUnused(now);
  return std::exchange(results_, {});
}

void RedisReadings::Take(const PendingQuery& finished, absl::Time now) {
  if (finished.of == nullptr) return;
  Queue& queue = *finished.of;
  queue.pending.reset();
  if (!finished.moved_to.empty() && !finished.redirected && Redirect(queue, finished.moved_to)) {
    return Start(queue, finished.deadline, /*redirected=*/true, now);
  }
  const ServerAddress& place = queue.at->first.place;
  const absl::Status& status = finished.length.status();
  results_.push_back({.source = queue.target.source,
                      .length = status.ok() ? finished.length : AtPlace(place, status),
                      .note = finished.note});
  if (IsServerFault(status) && !std::exchange(queue.moved, {}).has_value()) {
    queue.choice = (queue.choice + 1) % queue.target.addresses.size();
  }
  queue.due = std::max(queue.due, NextDue(queue.at->second, now + PauseAfter(finished, queue)));
}

absl::Duration RedisReadings::PauseAfter(const RedisQuery& finished, Queue& queue) {
  if (finished.length.ok()) {
    queue.is_suspect = false;
    queue.pause = absl::ZeroDuration();
  }
  if (finished.error_source == RedisErrorSource::kNone) return absl::ZeroDuration();
  queue.is_suspect = true;
  if (finished.error_source == RedisErrorSource::kPossible) return absl::ZeroDuration();
  queue.pause = std::clamp(queue.pause * 2, kFirstPause, kMaxPause);
  return queue.pause;
}

// Follows a redirection. Returns false if it is not allowed: the node must be an address of the
// host, or one that the operator allows.
bool RedisReadings::Redirect(Queue& queue, absl::string_view to) const {
  const auto node = NodeOf(to, queue.at->first.place.address);
  if (!node.has_value()) return false;
  const bool is_of_host =
      std::ranges::find(queue.target.addresses, node->first) != queue.target.addresses.end();
  const std::string& namespace_name = queue.target.source.namespace_name;
  if (!is_of_host && !(rules_.NameToResolve(IpAddressText(node->first), namespace_name).ok() &&
                       rules_.CheckAddress(node->first).ok())) {
    return false;
  }
  queue.moved = node;
  return true;
}

absl::Time RedisReadings::NextDue(const Server& server, absl::Time now) const {
  if (server.phase > now) return server.phase;
  const absl::Duration since = now - server.phase;
  return server.phase + absl::Floor(since, limits_.interval) + limits_.interval;
}

// Keeps a server until its pause after a failure is over. Otherwise it would be connected to again
// at once when a queue returns to it.
void RedisReadings::EraseUnused(absl::Time now) {
  std::erase_if(servers_, [&](const Servers::value_type& entry) {
    return entry.second.queues == 0 && entry.second.session.RetryAt() <= now;
  });
}

std::vector<pollfd> RedisReadings::PollEvents() {
  std::vector<pollfd> poll_events;
  polled_.clear();
  for (auto& [place, server] : servers_) {
    poll_events.push_back(server.session.PollEvents());
    polled_.push_back(&server);
  }
  return poll_events;
}

void RedisReadings::Ready(std::span<const pollfd> polled) {
  for (size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents != 0) polled_[i]->ready = true;
  }
}

absl::Time RedisReadings::WakeAt(absl::Time now) const {
  absl::Time wake_at = absl::InfiniteFuture();
  for (const auto& [source, queue] : queues_) {
    const bool waits = queue.pending == nullptr && !queue.target.addresses.empty();
    if (waits) wake_at = std::min(wake_at, queue.due);
  }
  for (const auto& [place, server] : servers_) {
    wake_at = std::min(wake_at, server.ready ? now : server.session.WakeAt(now));
  }
  return wake_at;
}

}  // namespace gpuscaler
