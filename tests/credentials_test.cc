// Credentials from the scaler's files, and TLS: the program with a Redis and a metrics endpoint
// that require them.
#include <map>

#include "absl/strings/str_cat.h"
#include "base/test_ca.h"
#include "base/test_folder.h"
#include "demand_query.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"
#include "signal/test_redis.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kPassword[] = "correct-horse";
constexpr char kToken[] = "battery-staple";

class CredentialsTest : public testing::Test {
 protected:
  // Stores credentials under the alias "ours", for ScaledObjects of the namespace shop.
  void WriteCredentials(const std::string& origin, std::map<std::string, std::string> files) const {
    files.insert({{"hosts", origin}, {"namespaces", "shop"}, {"ca.crt", ca_.pem()}});
    for (const auto& [name, text] : files) folder_.Write("ours/" + name, text);
  }

  Server Scaler() const {
    return NewServer({absl::StrCat("--endpoint-credentials=", folder_.path())});
  }

  const TestFolder folder_;
  const TestCa ca_{"our CA"};
};

TEST_F(CredentialsTest, OpenARedisWithCertificateAndPassword) {
  const TestFolder of_redis;
  std::vector<std::string> options =
      TlsOptions(of_redis, ca_.Issue("redis"), /*client_ca=*/ca_.pem());
  options.insert(options.end(), {"--requirepass", kPassword});
  const TestRedis redis(options);
  redis.Do({"LPUSH", "jobs", "1", "2", "3"});
  const TestCertificate own = ca_.Issue("scaler");
  WriteCredentials(absl::StrCat("rediss://127.0.0.1:", redis.port()),
                   {{"password", kPassword}, {"tls.crt", own.cert}, {"tls.key", own.key}});
  const Server server = Scaler();
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const Words open = {"metricType=redis_list_length", "redisList=jobs", "redisTls=true",
                      "jobsPerReplica=5", absl::StrCat("redisAddress=127.0.0.1:", redis.port())};
  Words with_ours = open;
  with_ours.emplace_back("credentials=ours");
  EXPECT_TRUE(AnswerHas(server, with_ours, {"value   3\n"}));
  EXPECT_TRUE(AnswerHas(server, open, {"UNAVAILABLE"})) << "its authority is none of the system's";
  EXPECT_THAT(Query(server, with_ours) + server.process().Err(), Not(HasSubstr(kPassword)));
}

TEST_F(CredentialsTest, OpenAMetricsEndpointWithAToken) {
  const TestCertificate pair = ca_.Issue("gateway");
  const TestHttpServer page(
      [](TestHttpConnection& client) {
        for (std::string head = client.ReadRequest(); !head.empty(); head = client.ReadRequest()) {
          const bool is_ours = absl::StrContains(head, absl::StrCat("Bearer ", kToken, "\r\n"));
          if (!client.Send(is_ours ? Answer("queue 3\n") : EmptyAnswer(401))) return;
        }
      },
      &pair);
  WriteCredentials(absl::StrCat("https://127.0.0.1:", page.port()), {{"token", kToken}});
  const Server server = Scaler();
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const Words at = {"metricType=prometheus", "prometheusMetric=queue", "targetValue=8",
                    absl::StrCat("prometheusEndpoint=https://127.0.0.1:", page.port())};
  Words with_ours = at;
  with_ours.emplace_back("credentials=ours");
  EXPECT_TRUE(AnswerHas(server, with_ours, {"value   3\n"}));
  Words with_the_authority_alone = at;
  with_the_authority_alone.emplace_back(absl::StrCat("endpointCa=", ca_.pem()));
  EXPECT_TRUE(AnswerHas(server, with_the_authority_alone, {"it answers HTTP 401"}));
  EXPECT_THAT(Query(server, with_ours) + server.process().Err(), Not(HasSubstr(kToken)));
}

}  // namespace
}  // namespace gpuscaler
