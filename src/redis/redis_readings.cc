#include "redis/redis_readings.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/jitter.h"
#include "page/http_endpoint.h"

namespace gpuscaler {
namespace {

absl::Status AtPlace(const StreamTarget& place, const absl::Status& status) {
  return {status.code(), absl::StrCat(HostAndPort(place.host, place.port), " (",
                                      IpAddressText(place.address), "): ", status.message())};
}

// "10.1.2.3:6379"; "::1:6379" of IPv6; without a host the one that says so.
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

// A reply that cannot be read costs its connection, and 4 MiB: so seldom that it is no burden.
constexpr absl::Duration kFirstLeftAlone = absl::Seconds(1);
constexpr absl::Duration kLongestLeftAlone = absl::Seconds(30);

// When it is tried again; others may have gone.
constexpr absl::Duration kWithoutRoom = absl::Seconds(1);

absl::Status NoRoom(absl::string_view whose, size_t connections) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "not read: ", whose, " has ", connections,
      " connections to Redis, and no more: one for each address, redisDatabase and user"));
}

// Another address of the name may do better.
bool IsOfServer(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

RedisReadings::RedisReadings(const EndpointRules& rules, const RedisLimits& limits,
                             std::shared_ptr<LargeBodies> large_bodies)
    : rules_(rules), limits_(limits), large_bodies_(std::move(large_bodies)) {}

void RedisReadings::Replace(std::vector<RedisTarget> targets) {
  Queues wanted;
  for (RedisTarget& target : targets) {
    Queues::node_type known = queues_.extract(target.source);
    if (known.empty()) {
      wanted[target.source].target = std::move(target);
    } else {
      Adopt(wanted.insert(std::move(known)).position->second, std::move(target));
    }
  }
  for (auto& [source, queue] : queues_) Leave(queue);
  queues_ = std::move(wanted);
}

// The address that it is read at stays, while the host has it.
void RedisReadings::Adopt(Queue& queue, RedisTarget target) {
  RedisTarget& known = queue.target;
  if (known.server == target.server && known.addresses == target.addresses) return;
  Leave(queue);
  size_t choice = 0;
  for (size_t i = 0; i < target.addresses.size() && !known.addresses.empty(); ++i) {
    if (target.addresses[i] == known.addresses[queue.choice]) choice = i;
  }
  queue.choice = choice;
  known = std::move(target);
}

// What is on its way to where the queue was is of no interest any more.
void RedisReadings::Leave(Queue& queue) {
  if (queue.asked != nullptr) queue.asked->of = nullptr;
  Detach(queue);
  queue.asked.reset();
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

RedisReadings::Place RedisReadings::PlaceOf(const Queue& queue) {
  Place place{.namespace_name = queue.target.source.namespace_name, .server = queue.target.server};
  StreamTarget& node = place.server.place;
  node.address = queue.target.addresses[queue.choice];
  if (queue.moved.has_value()) std::tie(node.address, node.port) = *queue.moved;
  return place;
}

// A server without a queue is about to go, or has no connection.
absl::Status RedisReadings::CheckRoomFor(const Place& place) const {
  const auto known = servers_.find(place);
  if (known != servers_.end() && known->second.queues > 0) return absl::OkStatus();
  size_t all = 0;
  size_t own = 0;
  for (const auto& [at, server] : servers_) {
    if (server.queues == 0) continue;
    ++all;
    if (at.namespace_name == place.namespace_name) ++own;
  }
  if (own >= limits_.most_of_namespace) {
    return NoRoom(absl::StrCat("namespace ", place.namespace_name), own);
  }
  return all >= limits_.most_connections ? NoRoom("the scaler", all) : absl::OkStatus();
}

void RedisReadings::Settle(Queue& queue, const Place& place, absl::Time now) {
  const RedisMemoryBudget budget{.tenant = place.namespace_name, .large_bodies = large_bodies_};
  const auto [found, is_new] = servers_.try_emplace(place, place.server, budget);
  if (is_new) found->second.phase = now + limits_.interval * Jitter(0.0, 1.0);
  queue.at = &*found;
  ++found->second.queues;
}

void RedisReadings::Ask(Queue& queue, absl::Time deadline, bool hopped, absl::Time now) {
  Detach(queue);
  const Place place = PlaceOf(queue);
  if (const absl::Status room = CheckRoomFor(place); !room.ok()) {
    queue.due = now + kWithoutRoom;
    results_.push_back(
        {.source = queue.target.source, .length = AtPlace(place.server.place, room)});
    return;
  }
  Settle(queue, place, now);
  queue.due = NextDue(queue.at->second, now);
  queue.asked = std::make_shared<Asked>();
  queue.asked->queue = std::get<RedisQueue>(queue.target.source.place);
  queue.asked->deadline = deadline;
  queue.asked->timeout = limits_.timeout;
  queue.asked->marks = queue.marks;
  queue.asked->of = &queue;
  queue.asked->hopped = hopped;
  Server& server = queue.at->second;
  server.session.Ask(queue.asked, now);
  server.ready = true;
}

void RedisReadings::AskThoseDue(bool suspects, absl::Time now) {
  for (auto& [source, queue] : queues_) {
    if (queue.target.addresses.empty() || queue.asked != nullptr || queue.due > now) continue;
    if (queue.is_suspect != suspects) continue;
    Ask(queue, now + limits_.timeout, /*hopped=*/false, now);
  }
}

std::vector<RedisResult> RedisReadings::Advance(absl::Time now) {
  AskThoseDue(/*suspects=*/false, now);
  AskThoseDue(/*suspects=*/true, now);
  for (auto& [place, server] : servers_) {
    if (!server.ready && server.session.WakeAt(now) > now) continue;
    server.ready = false;
    for (RedisAnswer& answer : server.session.Advance(now)) Take(std::move(answer), now);
    if (server.session.HasMore()) server.ready = true;
  }
  Forget(now);
  return std::exchange(results_, {});
}

void RedisReadings::Take(RedisAnswer answer, absl::Time now) {
  const auto asked = std::static_pointer_cast<Asked>(answer.question);
  if (asked->of == nullptr) return;
  Queue& queue = *asked->of;
  queue.asked.reset();
  if (!answer.moved_to.empty() && !asked->hopped && Hop(queue, answer.moved_to)) {
    return Ask(queue, asked->deadline, /*hopped=*/true, now);
  }
  const StreamTarget& place = queue.at->first.server.place;
  if (answer.length.ok()) {
    results_.push_back(
        {.source = queue.target.source, .length = *answer.length, .note = std::move(answer.note)});
  } else {
    results_.push_back(
        {.source = queue.target.source, .length = AtPlace(place, answer.length.status())});
    if (IsOfServer(answer.length.status()) && !std::exchange(queue.moved, {}).has_value()) {
      queue.choice = (queue.choice + 1) % queue.target.addresses.size();
    }
  }
  queue.due = std::max(queue.due, NextDue(queue.at->second, now + PauseAfter(answer, queue)));
}

// For how long it is left alone.
absl::Duration RedisReadings::PauseAfter(const RedisAnswer& answer, Queue& queue) {
  if (answer.length.ok()) {
    queue.is_suspect = false;
    queue.pause = absl::ZeroDuration();
  }
  if (answer.error_source == RedisErrorSource::kNone) return absl::ZeroDuration();
  queue.is_suspect = true;
  if (answer.error_source == RedisErrorSource::kPossible) return absl::ZeroDuration();
  queue.pause = std::clamp(queue.pause * 2, kFirstLeftAlone, kLongestLeftAlone);
  return queue.pause;
}

// A node may be led to as it could be named: an address that the host has, or that the operator
// allows. False: neither.
bool RedisReadings::Hop(Queue& queue, absl::string_view to) const {
  const auto node = NodeOf(to, queue.at->first.server.place.address);
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

// A server that is being left alone after a failure is remembered until that is over: else it would
// be connected to again at once when a queue comes back to it.
void RedisReadings::Forget(absl::Time now) {
  std::erase_if(servers_, [&](const Servers::value_type& entry) {
    return entry.second.queues == 0 && entry.second.session.PutOffUntil() <= now;
  });
}

std::vector<pollfd> RedisReadings::WaitsFor() {
  std::vector<pollfd> waits_for;
  polled_.clear();
  for (auto& [place, server] : servers_) {
    waits_for.push_back(server.session.WaitsFor());
    polled_.push_back(&server);
  }
  return waits_for;
}

void RedisReadings::Ready(std::span<const pollfd> polled) {
  for (size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents != 0) polled_[i]->ready = true;
  }
}

absl::Time RedisReadings::WakeAt(absl::Time now) const {
  absl::Time wake_at = absl::InfiniteFuture();
  for (const auto& [source, queue] : queues_) {
    const bool waits = queue.asked == nullptr && !queue.target.addresses.empty();
    if (waits) wake_at = std::min(wake_at, queue.due);
  }
  for (const auto& [place, server] : servers_) {
    wake_at = std::min(wake_at, server.ready ? now : server.session.WakeAt(now));
  }
  return wake_at;
}

}  // namespace gpuscaler
