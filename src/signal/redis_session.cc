#include "signal/redis_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/jitter.h"
#include "signal/redis_fault.h"

namespace gpuscaler {
namespace {

// A server that restarts is back within seconds. One that is gone is contacted some 10 times a
// minute.
constexpr absl::Duration kMinReconnectPause = absl::Milliseconds(500);
constexpr absl::Duration kMaxReconnectPause = absl::Seconds(5);

// A server that sends without end must not delay others.
constexpr int kMaxRepliesAtOnce = 64;

// Limit for immediate reconnections after undecodable replies: the server may not be Redis.
constexpr int kMaxBreaks = 4;

absl::Status Late(const RedisConnection& connection, const RedisQuery& query) {
  return absl::DeadlineExceededError(
      absl::StrCat(connection.Missing(), " within ", absl::FormatDuration(query.timeout)));
}

}  // namespace

RedisSession::RedisSession(RedisServer server, std::shared_ptr<ResponseMemory> memory)
    : server_(std::move(server)), memory_(std::move(memory)) {}

void RedisSession::Start(const std::shared_ptr<RedisQuery>& query, absl::Time now) {
  if (connection_ == nullptr && now < retry_at_) return Finish(query, failure_);
  if (connection_ == nullptr) connection_ = std::make_unique<RedisConnection>(server_, memory_);
  Send(query, NextStep(query->queue, query->replies, query->lag, *query->marks).commands);
}

void RedisSession::Send(const std::shared_ptr<RedisQuery>& query,
                        const std::vector<RedisCommand>& commands) {
  for (const RedisCommand& command : commands) {
    connection_->Enqueue(command);
    pending_.push_back(query);
  }
  query->pending_replies += commands.size();
}

std::vector<std::shared_ptr<RedisQuery>> RedisSession::Advance(absl::Time now) {
  has_more_ = false;
  if (connection_ != nullptr) {
    connection_->Advance();
    for (int i = 0; i < kMaxRepliesAtOnce; ++i) {
      std::optional<RedisReply> reply = connection_->TakeReply();
      if (!reply.has_value()) break;
      has_more_ = i + 1 == kMaxRepliesAtOnce;
      HandleReply(*std::move(reply));
    }
    connection_->Advance();  // sends commands that follow from the replies
    if (!has_more_ && !connection_->status().ok()) {
      OnBreak(absl::Status(connection_->status()), now);  // a copy: the connection is destroyed
    }
  }
  if (EarliestDeadline() <= now) OnBreak(Late(*connection_, *pending_.front()), now);
  return std::exchange(finished_, {});
}

void RedisSession::HandleReply(RedisReply reply) {
  const std::shared_ptr<RedisQuery> query = std::move(pending_.front());
  pending_.pop_front();
  --query->pending_replies;
  pause_ = absl::ZeroDuration();
  breaks_ = 0;
  query->replies.push_back(std::move(reply));
  if (query->pending_replies > 0) return;
  const RedisReply& first = query->replies.front();
  if (first.kind == RedisReply::Kind::kError && !MovedTo(first.text).empty()) {
    query->moved_to = std::string(MovedTo(first.text));
    return Finish(query, RedisFault(first.text));
  }
  RedisStep step = NextStep(query->queue, query->replies, query->lag, *query->marks);
  if (!step.commands.empty()) return Send(query, step.commands);
  query->note = std::move(step.note);
  Finish(query, std::move(step.length));
}

void RedisSession::Finish(const std::shared_ptr<RedisQuery>& query, absl::StatusOr<double> length) {
  query->length = std::move(length);
  finished_.push_back(query);
}

// Returns the role of the query with the next outstanding reply.
RedisErrorSource RedisSession::ErrorSourceOf(const absl::Status& why) const {
  if (pending_.empty()) return RedisErrorSource::kNone;
  if (connection_->BrokeOnReply()) return RedisErrorSource::kCertain;
  if (!connection_->AwaitsReply()) return RedisErrorSource::kNone;
  const bool is_late = absl::IsDeadlineExceeded(why) && connection_->HasReplied();
  return is_late ? RedisErrorSource::kCertain : RedisErrorSource::kPossible;
}

// Repeats the queries once if the connection was good before: it may have been idle for too long,
// or the server was restarted. Also repeats queries that were pending beside one that broke the
// connection. Queries that cannot be repeated in time get the reason.
void RedisSession::OnBreak(const absl::Status& why, absl::Time now) {
  const RedisErrorSource error_source = ErrorSourceOf(why);
  const bool was_good = connection_->HasReplied() && absl::IsUnavailable(why);
  connection_.reset();
  std::deque<std::shared_ptr<RedisQuery>> unfinished = std::exchange(pending_, {});
  unfinished.erase(std::unique(unfinished.begin(), unfinished.end()), unfinished.end());
  const bool may_retry = was_good && std::ranges::none_of(unfinished, [](const auto& query) {
                           return query->is_retry;
                         });
  const bool retry_now =
      error_source == RedisErrorSource::kCertain ? ++breaks_ <= kMaxBreaks : may_retry;
  if (!retry_now) BackOff(why, now);
  if (absl::IsFailedPrecondition(why) && error_source == RedisErrorSource::kCertain) {
    RecordUnreadable(unfinished.front()->replies.size(), *unfinished.front()->marks);
  }
  if (error_source == RedisErrorSource::kCertain ||
      (error_source == RedisErrorSource::kPossible && !retry_now)) {
    unfinished.front()->error_source = error_source;
    Finish(unfinished.front(), why);
    unfinished.pop_front();
  }
  for (const std::shared_ptr<RedisQuery>& query : unfinished) {
    query->replies.clear();
    query->pending_replies = 0;
    query->is_retry = true;
    if (query->deadline <= now) {
      Finish(query, why);
    } else {
      Start(query, now);
    }
  }
  has_more_ = connection_ != nullptr;
}

void RedisSession::BackOff(const absl::Status& why, absl::Time now) {
  pause_ = std::clamp(pause_ * 2, kMinReconnectPause, kMaxReconnectPause);
  retry_at_ = now + pause_ * Jitter(0.8, 1.2);
  failure_ = why;
}

absl::Time RedisSession::EarliestDeadline() const {
  absl::Time earliest = absl::InfiniteFuture();
  for (const auto& query : pending_) earliest = std::min(earliest, query->deadline);
  return earliest;
}

pollfd RedisSession::PollEvents() const {
  return connection_ == nullptr ? pollfd{.fd = -1, .events = 0, .revents = 0}
                                : connection_->PollEvents();
}

absl::Time RedisSession::WakeAt(absl::Time now) const {
  if (connection_ == nullptr) return absl::InfiniteFuture();
  return std::min(now + connection_->WakeIn(), EarliestDeadline());
}

}  // namespace gpuscaler
