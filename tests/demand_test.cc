// Demand triggers: the program with a real Redis, a simulated engine and malformed metrics
// endpoints, on real sockets.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>

#include "absl/strings/str_cat.h"
#include "demand_query.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"
#include "process.h"
#include "serve/test_http_client.h"
#include "signal/test_redis.h"
#include "simulated_engine.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

class QueueTest : public testing::Test {
 protected:
  Words Lag() const {
    return {"metricType=redis_stream_lag",
            absl::StrCat("redisAddress=127.0.0.1:", redis_.port()),
            "redisStream=jobs",
            "redisConsumerGroup=workers",
            "redisPassword=secret",
            "jobsPerReplica=5"};
  }

  TestRedis redis_{{"--requirepass", "secret"}};
};

TEST_F(QueueTest, FiveUnreadJobsAreAReplica) {
  redis_.Do({"XGROUP", "CREATE", "jobs", "workers", "$", "MKSTREAM"});
  for (int job = 0; job < 47; ++job) redis_.Do({"XADD", "jobs", "*", "job", "1"});
  const Server server = NewServer();
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  Words two = Lag();
  two.emplace_back("--replicas=2");
  EXPECT_TRUE(AnswerHas(server, two, {"value   47\n", "active  yes\n", "hpa     from 2 to "}));
  EXPECT_THAT(Query(server, two) + server.process().Err(), Not(HasSubstr("secret")));
  redis_.Do({"XREADGROUP", "GROUP", "workers", "w", "COUNT", "47", "STREAMS", "jobs", ">"});
  EXPECT_TRUE(AnswerHas(server, Lag(), {"value   0\n", "active  no\n"}));
}

TEST_F(QueueTest, FirstRequestWaitsForTheReading) {
  redis_.Do({"XGROUP", "CREATE", "jobs", "workers", "$", "MKSTREAM"});
  redis_.Do({"XADD", "jobs", "*", "job", "1"});
  std::string first;
  EXPECT_TRUE(OnceInThree([&] {
    const Server server = NewServer();
    first = Query(server, Lag());
    return absl::StrContains(first, "value   1\n");
  })) << first;
}

TEST_F(QueueTest, UnavailableWhileRedisIsDownAndReadAgainAfterwards) {
  redis_.Do({"XGROUP", "CREATE", "jobs", "workers", "$", "MKSTREAM"});
  redis_.Do({"XADD", "jobs", "*", "job", "1"});
  const Server server = NewServer();
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_TRUE(AnswerHas(server, Lag(), {"value   1\n"}));
  redis_.Stop();
  EXPECT_TRUE(AnswerHas(server, Lag(), {"UNAVAILABLE", "stream jobs at 127.0.0.1"}));
  redis_.Start();
  redis_.Do({"XGROUP", "CREATE", "jobs", "workers", "$", "MKSTREAM"});
  for (int job = 0; job < 3; ++job) redis_.Do({"XADD", "jobs", "*", "job", "1"});
  EXPECT_TRUE(AnswerHas(server, Lag(), {"value   3\n"}));
}

TEST_F(QueueTest, ErrorOfAWrongPasswordOmitsThePassword) {
  const Server server = NewServer();
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  Words wrong = Lag();
  wrong[4] = "redisPassword=guessed";
  EXPECT_TRUE(AnswerHas(server, wrong, {"Redis refuses the user or the password"}));
  EXPECT_THAT(Query(server, wrong) + server.process().Err(), Not(HasSubstr("guessed")));
}

TEST(Demand, AForbiddenEndpointGetsNoRequest) {
  const TestHttpServer page(Serving([](absl::string_view) { return Answer("queue 3\n"); }));
  const Server server({"--gpu-source=none"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const std::string answer =
      Query(server, {"metricType=prometheus", "prometheusMetric=queue", "targetValue=8",
                     absl::StrCat("prometheusEndpoint=http://127.0.0.1:", page.port())});
  EXPECT_THAT(answer, HasSubstr("PERMISSION_DENIED"));
  EXPECT_THAT(answer, HasSubstr("--allow-endpoints"));
  EXPECT_EQ(page.connections(), 0);
}

TEST(Demand, EndpointsOfTheNamespaceEndWithTheClusterDomain) {
  const Server server({"--gpu-source=none", "--cluster-domain=corp.internal"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const auto answer_of = [&](const std::string& host) {
    return Query(server, {"metricType=prometheus", "prometheusMetric=queue", "targetValue=8",
                          absl::StrCat("prometheusEndpoint=http://", host)});
  };
  // The name does not resolve here, but the rules allow it.
  EXPECT_THAT(answer_of("llm.shop.svc.corp.internal"), HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(answer_of("llm.shop.svc.cluster.local"), HasSubstr("PERMISSION_DENIED"));
}

// The operator's view of the sources of triggers, in answers and on /metrics.
TEST(Demand, ReadingsThatSucceedAndFailAreOnTheMetricsPage) {
  std::atomic<bool> broken = false;
  const TestHttpServer page(Serving([&](absl::string_view) {
    return broken ? absl::StrCat("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
                  : Answer("queue 3\n");
  }));
  const Server server = NewServer();
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const auto value_of = [&](const std::string& series) {
    const std::string text =
        Request(server.Port("metrics"), "GET", "/metrics").value_or(TestReply()).body;
    const size_t at = text.find(absl::StrCat("\nkeda_gpu_scaler_signal_", series, " "));
    return at == std::string::npos ? -1 : std::atof(text.c_str() + text.find(' ', at));
  };
  EXPECT_EQ(value_of("readings_total{kind=\"page\",outcome=\"read\"}"), 0);
  EXPECT_EQ(value_of("reading_age_seconds{kind=\"page\"}"), -1) << "nothing is wanted";
  EXPECT_TRUE(AnswerHas(server,
                        {"metricType=prometheus", "prometheusMetric=queue", "targetValue=8",
                         absl::StrCat("prometheusEndpoint=http://127.0.0.1:", page.port())},
                        {"value   3\n"}));
  EXPECT_GT(value_of("readings_total{kind=\"page\",outcome=\"read\"}"), 0);
  EXPECT_EQ(value_of("sources{kind=\"page\"}"), 1);
  EXPECT_EQ(value_of("readings_total{kind=\"engine\",outcome=\"failed\"}"), 0);
  const double failed = value_of("readings_total{kind=\"page\",outcome=\"failed\"}");
  broken = true;
  EXPECT_TRUE(Eventually([&] {
    return value_of("readings_total{kind=\"page\",outcome=\"failed\"}") >= failed + 3;
  })) << server.process().Diagnostics();
  EXPECT_TRUE(Eventually([&] { return value_of("reading_age_seconds{kind=\"page\"}") > 1; }));
}

class GatewayTest : public testing::Test {
 protected:
  static Words At(const TestHttpServer& page) {
    return {"metricType=prometheus", "prometheusMetric=queue_size{pool=\"chat\"}", "targetValue=8",
            absl::StrCat("prometheusEndpoint=http://127.0.0.1:", page.port(), "/metrics")};
  }

  const Server server_ = NewServer();
};

TEST_F(GatewayTest, ValueIsTheMetricOfTheGateway) {
  const TestHttpServer page(Serving([](absl::string_view) {
    return Answer("queue_size{pool=\"chat\"} 20\nqueue_size{pool=\"batch\"} 100\n");
  }));
  EXPECT_TRUE(AnswerHas(server_, At(page), {"value   20\n"}));
}

// As with llama.cpp's router: the query names the model.
TEST_F(GatewayTest, TheEndpointsQuerySelectsARoutersModel) {
  const TestHttpServer router(Serving([](absl::string_view path) {
    return path == "/metrics?model=qwen" ? Answer("llamacpp:requests_processing 5\n")
                                         : EmptyAnswer(400);
  }));
  const auto at = [&](absl::string_view path) {
    return Words{"metricType=requests_running", "targetValue=4", "scope=fleet",
                 absl::StrCat("engineEndpoint=http://127.0.0.1:", router.port(), path)};
  };
  EXPECT_TRUE(AnswerHas(server_, at("/metrics"), {"it answers HTTP 400"}));
  EXPECT_TRUE(AnswerHas(server_, at("/metrics?model=qwen"), {"value   5\n"}));
}

// An endpoint picker has no series for its queue before the first request.
TEST_F(GatewayTest, AMissingMetricIsAnErrorUnlessTheTriggerSetsZero) {
  std::atomic<bool> was_asked = false;
  const TestHttpServer page(Serving([&](absl::string_view) {
    return Answer(was_asked ? "up 1\nqueue_size{pool=\"chat\"} 3\n" : "up 1\n");
  }));
  Words absent = At(page);
  EXPECT_TRUE(AnswerHas(server_, absent, {"no series of queue_size"}));
  absent.push_back("prometheusAbsent=0");
  EXPECT_TRUE(AnswerHas(server_, absent, {"value   0\n"}));
  was_asked = true;
  EXPECT_TRUE(AnswerHas(server_, absent, {"value   3\n"}));
}

// A malformed page, and the error that KEDA gets.
struct BadPage {
  const char* name;
  TestHttpServer::Handler handler;
  const char* words;
};
void PrintTo(const BadPage& page, std::ostream* out) { *out << page.name; }

std::string EndlessBody() {
  return absl::StrCat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "100000\r\n",
                      std::string(0x100000, 'a'), "\r\n");
}

std::vector<BadPage> BadPages() {
  return {
      {"Redirect", Serving([](absl::string_view) {
         return EmptyAnswer(302, "Location: http://169.254.169.254/latest/meta-data\r\n");
       }),
       "302"},
      {"Garbage", Serving([](absl::string_view) { return Answer(std::string(4096, '\xff')); }),
       "UNAVAILABLE"},
      {"TenMegabytes",
       Serving([](absl::string_view) { return Answer(std::string(10 << 20, '\n')); }), "4 MiB"},
      {"EndlessBody",
       [](TestHttpConnection& client) {
         client.ReadRequest();
         for (std::string body = EndlessBody(); client.Send(body);
              body = absl::StrCat("100000\r\n", std::string(0x100000, 'a'), "\r\n")) {
         }
       },
       "UNAVAILABLE"},
      {"Silence", [](TestHttpConnection& client) { client.Hang(); }, "UNAVAILABLE"},
      {"ServerError", Serving([](absl::string_view) { return EmptyAnswer(503); }), "503"},
      {"NoSuchMetric", Serving([](absl::string_view) { return Answer("other 1\n"); }),
       "queue_size"},
  };
}

class BadPageTest : public GatewayTest, public testing::WithParamInterface<BadPage> {};

TEST_P(BadPageTest, IsUnknownAndNeverZero) {
  const TestHttpServer page(GetParam().handler);
  EXPECT_TRUE(AnswerHas(server_, At(page), {"value   UNAVAILABLE", GetParam().words}));
}

INSTANTIATE_TEST_SUITE_P(AnyPage, BadPageTest, testing::ValuesIn(BadPages()),
                         [](const auto& info) { return std::string(info.param.name); });

class EngineTriggerTest : public testing::Test {
 protected:
  EngineTriggerTest() {
    EXPECT_TRUE(engine_.Serving()) << engine_.process().Diagnostics();
    EXPECT_TRUE(server_.Ready()) << server_.process().Diagnostics();
  }

  Words InFlight() const {
    return {"metricType=requests_in_flight", "targetValue=10", "window=0s", "scope=fleet",
            absl::StrCat("engineEndpoint=", engine_.Url())};
  }

  // One request at a time, each of them long.
  SimulatedEngine engine_{
      {"--max-num-seqs=1", "--tokens-per-second=1", "--full-batch-tokens-per-second=1"}};
  const Server server_ = NewServer({"--poll-interval=500ms", "--stale-after=1s"});
};

TEST_F(EngineTriggerTest, CountsWaitingAndRunningRequests) {
  EXPECT_TRUE(AnswerHas(server_, InFlight(), {"value   0\n"}));
  const auto first = engine_.Complete(1000);
  const auto second = engine_.Complete(1000);
  EXPECT_TRUE(AnswerHas(server_, InFlight(), {"value   2\n", "active  yes\n"}));
}

TEST_F(EngineTriggerTest, UnavailableAfterACrash) {
  EXPECT_TRUE(AnswerHas(server_, InFlight(), {"value   0\n"}));
  engine_.process().Signal(SIGKILL);
  EXPECT_TRUE(AnswerHas(server_, InFlight(), {"UNAVAILABLE"}));
}

TEST_F(EngineTriggerTest, UnavailableDuringAHang) {
  EXPECT_TRUE(AnswerHas(server_, InFlight(), {"value   0\n"}));
  engine_.process().Signal(SIGSTOP);
  EXPECT_TRUE(AnswerHas(server_, InFlight(), {"UNAVAILABLE"}));
  engine_.process().Signal(SIGCONT);
  EXPECT_TRUE(AnswerHas(server_, InFlight(), {"value   0\n"}));
}

// Engine metrics pages, at "/metrics" unless another path is given.
class EngineExpositionTest : public testing::Test {
 protected:
  EngineExpositionTest() { EXPECT_TRUE(server_.Ready()) << server_.process().Diagnostics(); }

  static TestHttpServer At(const std::string& path, const std::string& page) {
    return TestHttpServer(Serving([path, page](absl::string_view asked) {
      return asked == path ? Answer(page) : EmptyAnswer(404);
    }));
  }
  static Words Of(const std::string& metric, const TestHttpServer& engine, const Words& more = {}) {
    Words words = {absl::StrCat("metricType=", metric), "targetValue=10", "window=0s",
                   "scope=fleet", absl::StrCat("engineEndpoint=http://127.0.0.1:", engine.port())};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const Server server_ = NewServer();
};

TEST_F(EngineExpositionTest, AMetricThatTheEngineNeverExportsIsAFailedPrecondition) {
  const TestHttpServer ollama =
      At("/api/ps", R"({"models":[{"name":"llama3:8b","size_vram":5137025024}]})");
  EXPECT_TRUE(
      AnswerHas(server_, Of("kv_cache_usage_percent", ollama),
                {"FAILED_PRECONDITION: no engine in scope reports kv_cache_usage_percent: ollama "
                 "does not; those that do are "}));
  const TestHttpServer tei = At("/metrics", "te_queue_size 3\nte_request_count 9\n");
  EXPECT_TRUE(
      AnswerHas(server_, Of("requests_in_flight", tei), {"tei does not; those that do are "}));
  EXPECT_TRUE(AnswerHas(server_, Of("requests_waiting", tei), {"value   3\n"}));
}

TEST_F(EngineExpositionTest, TritonWithoutTensorRtLlmHasNoPressure) {
  const TestHttpServer triton =
      At("/metrics",
         "nv_inference_request_success{model=\"resnet\",version=\"1\"} 7\n"
         "nv_inference_pending_request_count{model=\"resnet\",version=\"1\"} 3\n");
  EXPECT_TRUE(AnswerHas(server_, Of("requests_waiting", triton), {"value   3\n"}));
  EXPECT_TRUE(
      AnswerHas(server_, Of("engine_pressure", triton),
                {"FAILED_PRECONDITION: no engine in scope reports engine_pressure: triton does "
                 "not; those that do are ",
                 ", triton with TensorRT-LLM, "}));
}

TEST_F(EngineExpositionTest, AnEngineThatServedNothingHasNoRequests) {
  const TestHttpServer sglang =
      At("/metrics",
         "# TYPE sglang:max_total_num_tokens gauge\n"
         "sglang:max_total_num_tokens{model_name=\"m\",tp_rank=\"0\"} 570979.0\n");
  EXPECT_TRUE(AnswerHas(server_, Of("requests_in_flight", sglang), {"value   0\n"}));
  EXPECT_TRUE(AnswerHas(server_, Of("ttft_ms", sglang), {"value   0\n"}));
  const TestHttpServer tgi =
      At("/metrics", "# TYPE tgi_batch_max_total_tokens gauge\ntgi_batch_max_total_tokens 9\n\n");
  EXPECT_TRUE(AnswerHas(server_, Of("requests_in_flight", tgi), {"value   0\n"}));
}

TEST_F(EngineExpositionTest, AnEmptyPageIsOfTheNamedOrDetectedEngine) {
  const TestHttpServer silent = At("/metrics", "");
  EXPECT_TRUE(
      AnswerHas(server_, Of("requests_waiting", silent), {"its page is empty, as those of "}));
  EXPECT_TRUE(AnswerHas(server_, Of("requests_waiting", silent, {"engine=tei"}), {"value   0\n"}));
  const TestHttpServer tei(Serving([](absl::string_view asked) {
    if (asked == "/metrics") return Answer("");
    return asked == "/info" ? Answer(R"({"model_id":"bge","tokenization_workers":8})")
                            : EmptyAnswer(404);
  }));
  EXPECT_TRUE(AnswerHas(server_, Of("requests_waiting", tei), {"value   0\n"}));
}

}  // namespace
}  // namespace gpuscaler
