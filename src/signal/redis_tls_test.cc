#include "absl/strings/match.h"
#include "base/test_folder.h"
#include "gtest/gtest.h"
#include "signal/test_redis_reading.h"

namespace gpuscaler {
namespace {

class RedisTlsTest : public testing::Test {
 protected:
  std::vector<std::string> Serving(const TestCertificate& pair,
                                   const std::string& client_ca = "") const {
    return TlsOptions(folder_, pair, client_ca);
  }

  // Reads a queue with one item over TLS with `identity`.
  static TestReading::Length Read(const TestRedis& redis, const TlsIdentity& identity,
                                  const std::string& host = "localhost", bool tls = true) {
    redis.Do({"DEL", "jobs"});
    redis.Do({"LPUSH", "jobs", "a"});
    TestReading reading({.interval = absl::Milliseconds(20), .timeout = absl::Seconds(1)});
    RedisTarget target = TargetOf(redis, QueueLength::kList);
    target.server.place.host = host;
    target.server.place.tls = tls;
    target.server.place.identity = identity;
    reading.reader().Replace({target});
    return reading.Next(target.source);
  }

  static void ExpectFault(const TestReading::Length& got, absl::StatusCode code,
                          const std::string& says) {
    EXPECT_EQ(got.status().code(), code) << got.status();
    EXPECT_TRUE(absl::StrContains(got.status().message(), says)) << got.status();
  }

  const TestFolder folder_;
  const TestCa ca_{"our CA"};
  const TestCa other_ca_{"another CA"};
};

TEST_F(RedisTlsTest, ServerWithTheConfiguredCaIsRead) {
  const TestRedis redis(Serving(ca_.Issue("redis")));
  for (const std::string host : {"localhost", "127.0.0.1"}) {
    const auto length = Read(redis, {.ca = ca_.pem()}, host);
    ASSERT_TRUE(length.ok()) << host << length.status();
    EXPECT_EQ(*length, 1);
  }
}

TEST_F(RedisTlsTest, CertificatesAreVerified) {
  const TestRedis redis(Serving(ca_.Issue("redis")));
  constexpr auto kWrong = absl::StatusCode::kFailedPrecondition;
  ExpectFault(Read(redis, {.ca = other_ca_.pem()}), kWrong, "its certificate: ");
  ExpectFault(Read(redis, {}), kWrong, "its certificate: ");  // the system's authorities
  ExpectFault(Read(redis, {.ca = ca_.pem()}, "redis.team-b.svc"), kWrong, "redis.team-b.svc");
  const TestRedis old(TlsOptions(folder_, ca_.Issue("redis", -absl::Hours(1)), ""));
  ExpectFault(Read(old, {.ca = ca_.pem()}), kWrong, "expired");
}

TEST_F(RedisTlsTest, ClientCertificateIsSent) {
  const TestRedis redis(Serving(ca_.Issue("redis"), ca_.pem()));
  const TestCertificate ours = ca_.Issue("scaler");
  const auto length = Read(redis, {.ca = ca_.pem(), .cert = ours.cert, .key = ours.key});
  ASSERT_TRUE(length.ok()) << length.status();
  EXPECT_EQ(*length, 1);
}

// The message depends on whether the server's alert arrived before the connection closed.
TEST_F(RedisTlsTest, MissingClientCertificateIsReported) {
  const TestRedis redis(Serving(ca_.Issue("redis"), ca_.pem()));
  const absl::Status none = Read(redis, {.ca = ca_.pem()}).status();
  EXPECT_TRUE(absl::StrContains(none.message(), "a client certificate")) << none;
  const TestCertificate other = other_ca_.Issue("scaler");
  const absl::Status wrong =
      Read(redis, {.ca = ca_.pem(), .cert = other.cert, .key = other.key}).status();
  EXPECT_TRUE(absl::StrContains(wrong.message(), "refuse")) << wrong;
  EXPECT_TRUE(absl::StrContains(wrong.message(), "our certificate")) << wrong;
}

TEST_F(RedisTlsTest, InvalidCertificateIsReported) {
  const TestRedis redis(Serving(ca_.Issue("redis")));
  constexpr auto kOurs = absl::StatusCode::kInvalidArgument;
  ExpectFault(Read(redis, {.ca = "no PEM"}), kOurs, "CA");
  const TestCertificate ours = ca_.Issue("scaler");
  const TestCertificate other = ca_.Issue("other");
  ExpectFault(Read(redis, {.ca = ca_.pem(), .cert = "no PEM", .key = ours.key}), kOurs, "pair");
  ExpectFault(Read(redis, {.ca = ca_.pem(), .cert = ours.cert, .key = other.key}), kOurs, "pair");
}

TEST_F(RedisTlsTest, TlsAndPlainTextMismatchIsReported) {
  const TestRedis plain;
  const auto no_tls = Read(plain, {.ca = ca_.pem()});
  EXPECT_FALSE(no_tls.ok());
  EXPECT_TRUE(absl::StrContains(no_tls.status().message(), "TLS")) << no_tls.status();
  const TestRedis redis(Serving(ca_.Issue("redis")));
  EXPECT_FALSE(Read(redis, {}, "localhost", /*tls=*/false).ok());
}

}  // namespace
}  // namespace gpuscaler
