#include "signal/redis_codec.h"

#include <hiredis/read.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace gpuscaler {
namespace {

// hiredis would allocate lists as long as the server claims in "*1000000000". Here their size is
// checked first. Null, which hiredis reports as "Out of memory", ends the reply.
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

// The type of `count` differs between hiredis releases.
template <typename Count>
void* MakeList(const redisReadTask* task, Count count) {
  const auto size = static_cast<size_t>(count);
  if (!static_cast<RedisDecoder*>(task->privdata)->AddValues(size)) return nullptr;
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

// RESP3 types, which are never requested. hiredis supports them since 1.0. Without these functions
// it would return numbers cast to pointers.
template <typename NewerFunctions>
void RefuseResp3Kinds(NewerFunctions& functions) {
  if constexpr (requires { functions.createDouble; }) {
    functions.createDouble = [](const redisReadTask*, double, char*, size_t) -> void* {
      return nullptr;
    };
  }
  if constexpr (requires { functions.createBool; }) {
    functions.createBool = [](const redisReadTask*, int) -> void* { return nullptr; };
  }
}

// hiredis frees complete replies only.
void FreeReply(void* reply) { delete static_cast<RedisReply*>(reply); }

redisReplyObjectFunctions* Functions() {
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions made{};
    made.createString = MakeText;
    made.createArray = MakeList;
    made.createInteger = MakeInteger;
    made.createNil = MakeNil;
    made.freeObject = FreeReply;
    RefuseResp3Kinds(made);
    return made;
  }();
  return &functions;
}

// Each reply has this much memory of its own: enough for one receive buffer.
constexpr size_t kSmallReply = size_t{32} << 10;

absl::Status NoMemory() {
  return absl::ResourceExhaustedError("too many large answers at once: no memory for it");
}

absl::Status TooMuch(absl::string_view bound) {
  return absl::FailedPreconditionError(absl::StrCat("the answer is longer than ", bound));
}

}  // namespace

std::string EncodeRedisCommand(const RedisCommand& command) {
  std::string bytes = absl::StrCat("*", command.size(), "\r\n");
  for (const std::string& word : command) {
    absl::StrAppend(&bytes, "$", word.size(), "\r\n", word, "\r\n");
  }
  return bytes;
}

RedisDecoder::RedisDecoder(std::shared_ptr<ResponseMemory> all, std::string tenant)
    : memory_(std::move(all), std::move(tenant), kSmallReply),
      reader_(redisReaderCreateWithFunctions(Functions()), redisReaderFree) {
  reader_->privdata = this;
}

// Bytes are held twice: in hiredis' buffer and in the reply.
bool RedisDecoder::Resize(size_t unread_bytes, size_t values) {
  if (!memory_.Resize(2 * unread_bytes + values * sizeof(RedisReply))) {
    is_exhausted_ = true;
    return false;
  }
  unread_bytes_ = unread_bytes;
  values_ = values;
  return true;
}

bool RedisDecoder::AddValues(size_t values) {
  return values <= kMaxReplyValues - values_ && Resize(unread_bytes_, values_ + values);
}

void RedisDecoder::Feed(absl::string_view bytes) {
  if (!Resize(unread_bytes_ + bytes.size(), values_)) return;
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
}

absl::StatusOr<std::optional<RedisReply>> RedisDecoder::Next() {
  if (is_exhausted_) return NoMemory();
  void* made = nullptr;
  if (redisReaderGetReply(reader_.get(), &made) != REDIS_OK) {
    if (is_exhausted_) return NoMemory();
    if (reader_->err == REDIS_ERR_OOM) return TooMuch(absl::StrCat(kMaxReplyValues, " values"));
    return absl::FailedPreconditionError(
        absl::StrCat("the reply is not in the Redis protocol: ", PrintableText(reader_->errstr)));
  }
  if (made == nullptr) {
    if (unread_bytes_ > kMaxReplyBytes) {
      return TooMuch(absl::StrCat(kMaxReplyBytes >> 20, " MiB"));
    }
    return std::optional<RedisReply>();
  }
  const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(made));
  Resize(reader_->len - reader_->pos, 0);
  return std::optional<RedisReply>(std::move(*reply));
}

}  // namespace gpuscaler
