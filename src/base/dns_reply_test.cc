#include "base/dns_reply.h"

#include <arpa/nameser.h>

#include <cerrno>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

constexpr char kQuestion[] = "A of a.b";

// The question is for "a.b".
std::string ReplyWith(int answers, const std::string& records) {
  std::string reply("\x12\x34\x81\x80\0\1\0\0\0\0\0\0\1a\1b\0\0\1\0\1", 21);
  reply[7] = static_cast<char>(answers);
  return reply + records;
}

std::string Record(char type, const std::string& data) {
  std::string record("\xc0\x0c\0?\0\1\0\0\0\5\0?", 12);
  record[3] = type;
  record[11] = static_cast<char>(data.size());
  return record + data;
}

std::string Alias(const std::string& name) {
  return Record(ns_t_cname, std::string(1, static_cast<char>(name.size())) + name + '\0');
}

absl::StatusOr<std::string> AliasIn(const std::string& reply) {
  return LastAliasIn({reinterpret_cast<const unsigned char*>(reply.data()), reply.size()}, ns_t_a,
                     kQuestion);
}

TEST(LastAliasIn, ReturnsTheLastAlias) {
  EXPECT_EQ(AliasIn(ReplyWith(0, "")).value(), "");
  EXPECT_EQ(AliasIn(ReplyWith(1, Record(ns_t_aaaa, std::string(16, '\1')))).value(), "");
  EXPECT_EQ(AliasIn(ReplyWith(2, Alias("c") + Alias("d"))).value(), "d");
}

TEST(LastAliasIn, NamesHaveNoControlCharacters) {
  EXPECT_EQ(AliasIn(ReplyWith(1, Alias("c\n.\x1b"))).value(), R"(c\010\.\027)");
}

TEST(LastAliasIn, AnAddressIsAnAnswer) {
  EXPECT_EQ(AliasIn(ReplyWith(1, Record(ns_t_a, "\1\2\3\4"))).status(),
            absl::UnavailableError("A of a.b is answered by now"));
}

TEST(LastAliasIn, AMalformedReplyIsAnError) {
  const std::string whole = ReplyWith(1, Alias("c"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(AliasIn(whole.substr(0, size)).status(),
              absl::UnavailableError("A of a.b: a faulty reply"))
        << size;
  }
  // A name that points to itself.
  EXPECT_FALSE(AliasIn(ReplyWith(1, Record(ns_t_cname, "\xc0\x21"))).ok());
}

TEST(FailureIn, IsTheServersCodeOrTheSystemsError) {
  const auto failure = [](unsigned char flags, unsigned char code) {
    const unsigned char reply[NS_HFIXEDSZ] = {0, 0, flags, code};
    return FailureIn(reply, ETIMEDOUT);
  };
  EXPECT_EQ(failure(0, 0), strerror(ETIMEDOUT));
  EXPECT_EQ(failure(0x80, ns_r_servfail), "SERVFAIL");
  EXPECT_EQ(failure(0x80, 0x80 | ns_r_refused), "REFUSED");
  EXPECT_EQ(failure(0x80, 9), "RCODE 9");
  EXPECT_THAT(failure(0x82, 0), HasSubstr("TCP"));
  EXPECT_EQ(failure(0x80, 0), "a faulty reply");
}

}  // namespace
}  // namespace gpuscaler
