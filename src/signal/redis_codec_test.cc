#include "signal/redis_codec.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using Kind = RedisReply::Kind;

RedisReply IntegerReply(int64_t integer) { return {.kind = Kind::kInteger, .integer = integer}; }
RedisReply TextReply(const std::string& text) { return {.kind = Kind::kText, .text = text}; }

// The status of the first Next(): OK for a reply and for an incomplete one.
absl::Status FirstOf(absl::string_view bytes) {
  RedisDecoder decoder;
  decoder.Feed(bytes);
  return decoder.Next().status();
}

TEST(RedisCodec, WordsAreBinarySafe) {
  EXPECT_EQ(EncodeRedisCommand({"XLEN", "a b\r\n", ""}),
            "*3\r\n$4\r\nXLEN\r\n$5\r\na b\r\n\r\n$0\r\n\r\n");
}

TEST(RedisCodec, RepliesOfEveryKindAreDecoded) {
  struct Case {
    std::string name;
    std::string bytes;
    RedisReply want;
  };
  const Case cases[] = {
      {"integer", ":47\r\n", IntegerReply(47)},
      {"negative integer", ":-1\r\n", IntegerReply(-1)},
      {"status", "+OK\r\n", TextReply("OK")},
      {"text", "$5\r\na\r\nb \r\n", TextReply("a\r\nb ")},
      {"nil", "$-1\r\n", {}},
      {"nil list", "*-1\r\n", {}},
      {"error", "-ERR no such key\r\n", {.kind = Kind::kError, .text = "ERR no such key"}},
      {"empty list", "*0\r\n", {.kind = Kind::kList}},
      {"lists in a list",
       "*2\r\n*2\r\n$4\r\nname\r\n:1\r\n*1\r\n$-1\r\n",
       {.kind = Kind::kList,
        .list = {{.kind = Kind::kList, .list = {TextReply("name"), IntegerReply(1)}},
                 {.kind = Kind::kList, .list = {{}}}}}},
  };
  for (const Case& each : cases) {
    RedisDecoder decoder;
    decoder.Feed(each.bytes);
    const auto reply = decoder.Next();
    ASSERT_TRUE(reply.ok() && reply->has_value()) << each.name << ": " << reply.status();
    EXPECT_EQ(**reply, each.want) << each.name;
    EXPECT_FALSE(decoder.Next()->has_value()) << each.name;
  }
}

TEST(RedisCodec, RepliesMayArriveByteByByte) {
  const std::string bytes = "*2\r\n$4\r\nname\r\n:12\r\n-ERR x\r\n:3\r\n";
  RedisDecoder decoder;
  std::vector<RedisReply> replies;
  for (const char byte : bytes) {
    decoder.Feed(absl::string_view(&byte, 1));
    const auto reply = decoder.Next();
    ASSERT_TRUE(reply.ok()) << reply.status();
    if (reply->has_value()) replies.push_back(**reply);
  }
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_EQ(replies[0].list, (std::vector<RedisReply>{TextReply("name"), IntegerReply(12)}));
  EXPECT_EQ(replies[1].text, "ERR x");
  EXPECT_EQ(replies[2], IntegerReply(3));
}

TEST(RedisCodec, OtherProtocolsAreErrors) {
  for (const std::string bytes :
       {"HTTP/1.1 400 Bad Request\r\n\r\n", "\x15\x03\x03\x00\x02\x02\x28", ":12x\r\n", "$-7\r\n",
        "*-7\r\n", ",1.5\r\n"}) {
    const absl::Status status = FirstOf(bytes);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << bytes << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "is not in the Redis protocol")) << status;
  }
}

TEST(RedisCodec, ListsAreNotAllocatedBeyondTheLimit) {
  // hiredis alone would allocate 8 GB at once.
  EXPECT_EQ(FirstOf("*1000000000\r\n").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(FirstOf(absl::StrCat("*", RedisDecoder::kMaxReplyValues, "\r\n")).ok());
  std::string nested = "*60000\r\n*60000\r\n";
  EXPECT_EQ(FirstOf(nested).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(RedisCodec, LimitAppliesToEachReply) {
  RedisDecoder decoder;
  std::string many = "*1000\r\n";
  for (int i = 0; i < 1000; ++i) many += ":7\r\n";
  for (int i = 0; i < 200; ++i) {
    decoder.Feed(many);
    const auto reply = decoder.Next();
    ASSERT_TRUE(reply.ok() && reply->has_value()) << i << ": " << reply.status();
  }
}

TEST(RedisCodec, EndlessReplyEndsAtTheLimit) {
  for (const std::string begin : {"$1000000000\r\n", "+"}) {
    RedisDecoder decoder;
    decoder.Feed(begin);
    absl::Status status;
    size_t fed = 0;
    for (; status.ok() && fed < 2 * RedisDecoder::kMaxReplyBytes; fed += 65536) {
      decoder.Feed(std::string(65536, 'x'));
      status = decoder.Next().status();
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << begin << status;
    EXPECT_LE(fed, RedisDecoder::kMaxReplyBytes + 65536) << begin;
  }
}

TEST(RedisCodec, LargeRepliesShareMemory) {
  const auto all = std::make_shared<ResponseMemory>(size_t{8} << 20);  // 2 MiB per tenant
  RedisDecoder first(all, "team-a");
  RedisDecoder second(all, "team-a");
  RedisDecoder other(all, "team-b");
  const std::string claim = "*20000\r\n";  // 72 bytes per value, allocated before any arrives
  first.Feed(claim);
  EXPECT_TRUE(first.Next().ok());
  second.Feed(claim);
  EXPECT_EQ(second.Next().status().code(), absl::StatusCode::kResourceExhausted);
  other.Feed(claim);
  EXPECT_TRUE(other.Next().ok()) << "another tenant has its own share";
  RedisDecoder third(all, "team-a");
  third.Feed(absl::StrCat("$4000000\r\n", std::string(1 << 20, 'x')));
  EXPECT_EQ(third.Next().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(RedisCodec, TakenReplyReleasesItsMemory) {
  const auto all = std::make_shared<ResponseMemory>(size_t{8} << 20);
  RedisDecoder decoder(all, "team-a");
  std::string list = "*20000\r\n";
  for (int i = 0; i < 20'000; ++i) list += ":1\r\n";
  for (int i = 0; i < 5; ++i) {
    decoder.Feed(list);
    const auto reply = decoder.Next();
    ASSERT_TRUE(reply.ok()) << i << reply.status();
    EXPECT_TRUE(reply->has_value()) << i;
  }
}

}  // namespace
}  // namespace gpuscaler
