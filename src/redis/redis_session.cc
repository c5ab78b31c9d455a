#include "redis/redis_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/jitter.h"
#include "redis/redis_fault.h"

namespace gpuscaler {
namespace {

// A server that restarts is back within seconds; one that is gone is asked for some 10 times a
// minute.
constexpr absl::Duration kShortestPause = absl::Milliseconds(500);
constexpr absl::Duration kLongestPause = absl::Seconds(5);

// So that a server that never stops talking holds up no other.
constexpr int kMostRepliesAtOnce = 64;

// Connections made anew at once because a reply could not be read: what answers may be no Redis.
constexpr int kMostBreaks = 4;

absl::Status Late(const RedisConnection& connection, const RedisQuestion& question) {
  return absl::DeadlineExceededError(
      absl::StrCat(connection.Missing(), " within ", absl::FormatDuration(question.timeout)));
}

}  // namespace

RedisSession::RedisSession(RedisServer server, RedisMemoryBudget budget)
    : server_(std::move(server)), budget_(std::move(budget)) {}

void RedisSession::Connect() { connection_ = std::make_unique<RedisConnection>(server_, budget_); }

void RedisSession::Ask(const std::shared_ptr<RedisQuestion>& question, absl::Time now) {
  if (connection_ == nullptr && now < put_off_until_) return Finish(question, failure_);
  if (connection_ == nullptr) Connect();
  Send(question, NextStep(question->queue, question->replies, question->lag, *question->marks).ask);
}

void RedisSession::Send(const std::shared_ptr<RedisQuestion>& question,
                        const std::vector<RedisCommand>& commands) {
  for (const RedisCommand& command : commands) {
    connection_->Ask(command);
    owed_.push_back(question);
  }
  question->owed += commands.size();
}

std::vector<RedisAnswer> RedisSession::Advance(absl::Time now) {
  has_more_ = false;
  if (connection_ != nullptr) {
    connection_->Advance();
    for (int i = 0; i < kMostRepliesAtOnce; ++i) {
      std::optional<RedisReply> reply = connection_->TakeReply();
      if (!reply.has_value()) break;
      has_more_ = i + 1 == kMostRepliesAtOnce;
      Deal(*std::move(reply));
    }
    connection_->Advance();  // sends what the replies led to
    if (!has_more_ && !connection_->status().ok()) {
      Broke(absl::Status(connection_->status()), now);  // which goes with the connection
    }
  }
  if (EarliestDeadline() <= now) Broke(Late(*connection_, *owed_.front()), now);
  return std::exchange(answers_, {});
}

void RedisSession::Deal(RedisReply reply) {
  const std::shared_ptr<RedisQuestion> question = std::move(owed_.front());
  owed_.pop_front();
  --question->owed;
  pause_ = absl::ZeroDuration();
  breaks_ = 0;
  question->replies.push_back(std::move(reply));
  if (question->owed > 0) return;
  const RedisReply& first = question->replies.front();
  if (first.kind == RedisReply::Kind::kError && !MovedTo(first.text).empty()) {
    return Finish(question, RedisFault(first.text), std::string(MovedTo(first.text)));
  }
  RedisStep step = NextStep(question->queue, question->replies, question->lag, *question->marks);
  if (step.ask.empty()) {
    answers_.push_back(
        {.question = question, .length = std::move(step.length), .note = std::move(step.note)});
    return;
  }
  Send(question, step.ask);
}

void RedisSession::Finish(const std::shared_ptr<RedisQuestion>& question,
                          absl::StatusOr<double> length, std::string moved_to,
                          RedisErrorSource error_source) {
  answers_.push_back({.question = question,
                      .length = std::move(length),
                      .moved_to = std::move(moved_to),
                      .error_source = error_source});
}

// Of the question whose reply is the next one to come.
RedisErrorSource RedisSession::ErrorSourceOf(const absl::Status& why) const {
  if (owed_.empty()) return RedisErrorSource::kNone;
  if (connection_->ReplyBroke()) return RedisErrorSource::kCertain;
  if (!connection_->AwaitsReply()) return RedisErrorSource::kNone;
  const bool is_late = absl::IsDeadlineExceeded(why) && connection_->HasReplied();
  return is_late ? RedisErrorSource::kCertain : RedisErrorSource::kPossible;
}

// What is asked of a connection that was good is asked once more: it may have stood idle for too
// long, or its server was restarted. So is what was asked beside a question that broke it. Whoever
// cannot be asked in time gets the reason.
void RedisSession::Broke(const absl::Status& why, absl::Time now) {
  const RedisErrorSource error_source = ErrorSourceOf(why);
  const bool was_good = connection_->HasReplied() && absl::IsUnavailable(why);
  connection_.reset();
  std::deque<std::shared_ptr<RedisQuestion>> open = std::exchange(owed_, {});
  open.erase(std::unique(open.begin(), open.end()), open.end());
  const bool once_more = was_good && std::ranges::none_of(open, [](const auto& question) {
                           return question->asked_again;
                         });
  const bool again =
      error_source == RedisErrorSource::kCertain ? ++breaks_ <= kMostBreaks : once_more;
  if (!again) PutOff(why, now);
  if (absl::IsFailedPrecondition(why) && error_source == RedisErrorSource::kCertain) {
    NoteUnreadable(open.front()->replies.size(), *open.front()->marks);
  }
  if (error_source == RedisErrorSource::kCertain ||
      (error_source == RedisErrorSource::kPossible && !again)) {
    Finish(open.front(), why, "", error_source);
    open.pop_front();
  }
  for (const std::shared_ptr<RedisQuestion>& question : open) {
    question->replies.clear();
    question->owed = 0;
    question->asked_again = true;
    if (question->deadline <= now) {
      Finish(question, why);
    } else {
      Ask(question, now);
    }
  }
  has_more_ = connection_ != nullptr;
}

void RedisSession::PutOff(const absl::Status& why, absl::Time now) {
  pause_ = std::clamp(pause_ * 2, kShortestPause, kLongestPause);
  put_off_until_ = now + pause_ * Jitter(0.8, 1.2);
  failure_ = why;
}

absl::Time RedisSession::EarliestDeadline() const {
  absl::Time earliest = absl::InfiniteFuture();
  for (const auto& question : owed_) earliest = std::min(earliest, question->deadline);
  return earliest;
}

pollfd RedisSession::WaitsFor() const {
  return connection_ == nullptr ? pollfd{.fd = -1, .events = 0, .revents = 0}
                                : connection_->WaitsFor();
}

absl::Time RedisSession::WakeAt(absl::Time now) const {
  if (connection_ == nullptr) return absl::InfiniteFuture();
  return std::min(now + connection_->WakeIn(), EarliestDeadline());
}

}  // namespace gpuscaler
