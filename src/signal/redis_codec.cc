#include "signal/redis_codec.h"

#include <hiredis/read.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// hiredis' own lists would be as long as the server claims in "*1000000000": the places of ours are
// counted before they are made. Null, which hiredis calls "Out of memory", ends the reply.
RedisReply* PlaceOf(const redisReadTask* task) {
  if (task->parent == nullptr) return new RedisReply;
  return &static_cast<RedisReply*>(task->parent->obj)->list[static_cast<size_t>(task->idx)];
}

void* MakeText(const redisReadTask* task, char* text, size_t size) {
  RedisReply* const reply = PlaceOf(task);
  const bool is_error = task->type == REDIS_REPLY_ERROR;
  reply->kind = is_error ? RedisReply::Kind::kError : RedisReply::Kind::kText;
  reply->text.assign(text, size);
  return reply;
}

// The type of the count differs between releases of hiredis.
template <typename Count>
void* MakeList(const redisReadTask* task, Count count) {
  const auto size = static_cast<size_t>(count);
  auto& values = *static_cast<size_t*>(task->privdata);
  if (size > RedisDecoder::kMaxReplyValues - values) return nullptr;
  values += size;
  RedisReply* const reply = PlaceOf(task);
  reply->kind = RedisReply::Kind::kList;
  reply->list.resize(size);
  return reply;
}

void* MakeInteger(const redisReadTask* task, long long integer) {
  RedisReply* const reply = PlaceOf(task);
  reply->kind = RedisReply::Kind::kInteger;
  reply->integer = integer;
  return reply;
}

void* MakeNil(const redisReadTask* task) { return PlaceOf(task); }

// RESP3's, which nobody asked for. hiredis knows it from 1.0 on, and would hand out numbers cast to
// pointers where nobody makes them.
template <typename NewerFunctions>
void RefuseNewerKinds(NewerFunctions& functions) {
  if constexpr (requires { functions.createDouble; }) {
    functions.createDouble = [](const redisReadTask*, double, char*, size_t) -> void* {
      return nullptr;
    };
  }
  if constexpr (requires { functions.createBool; }) {
    functions.createBool = [](const redisReadTask*, int) -> void* { return nullptr; };
  }
}

// hiredis frees whole replies alone.
void FreeReply(void* reply) { delete static_cast<RedisReply*>(reply); }

redisReplyObjectFunctions* Functions() {
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions made{};
    made.createString = MakeText;
    made.createArray = MakeList;
    made.createInteger = MakeInteger;
    made.createNil = MakeNil;
    made.freeObject = FreeReply;
    RefuseNewerKinds(made);
    return made;
  }();
  return &functions;
}

absl::Status TooMuch(absl::string_view bound) {
  return absl::FailedPreconditionError(
      absl::StrCat("what answers says more than ", bound, " at once"));
}

}  // namespace

std::string EncodeRedisCommand(const RedisCommand& command) {
  std::string bytes = absl::StrCat("*", command.size(), "\r\n");
  for (const std::string& word : command) {
    absl::StrAppend(&bytes, "$", word.size(), "\r\n", word, "\r\n");
  }
  return bytes;
}

void RedisDecoder::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

RedisDecoder::RedisDecoder() : reader_(redisReaderCreateWithFunctions(Functions())) {
  reader_->privdata = &values_;
}

RedisDecoder::~RedisDecoder() = default;

void RedisDecoder::Feed(absl::string_view bytes) {
  unread_bytes_ += bytes.size();
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
}

absl::StatusOr<std::optional<RedisReply>> RedisDecoder::Next() {
  void* made = nullptr;
  if (redisReaderGetReply(reader_.get(), &made) != REDIS_OK) {
    if (reader_->err == REDIS_ERR_OOM) return TooMuch(absl::StrCat(kMaxReplyValues, " values"));
    return absl::FailedPreconditionError(
        absl::StrCat("what answers does not speak Redis: ", absl::CHexEscape(reader_->errstr)));
  }
  if (made == nullptr) {
    if (unread_bytes_ > kMaxReplyBytes) {
      return TooMuch(absl::StrCat(kMaxReplyBytes >> 20, " MiB"));
    }
    return std::optional<RedisReply>();
  }
  const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(made));
  unread_bytes_ = reader_->len - reader_->pos;
  values_ = 0;
  return std::optional<RedisReply>(std::move(*reply));
}

}  // namespace gpuscaler
