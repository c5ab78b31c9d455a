#include "engine/engine_reader.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr absl::string_view kVllm =
    "vllm:num_requests_running{model_name=\"m\"} 3\nvllm:num_requests_waiting{model_name=\"m\"} "
    "2\n";
constexpr absl::string_view kTgi = "tgi_queue_size 4\ntgi_batch_current_size 1\n";
constexpr absl::string_view kNim = "num_requests_running 5\nnum_requests_waiting 6\n";
constexpr absl::string_view kTrtllm = "trtllm_num_requests_running 7\n";

// A reader and its server, which returns 404 for unknown paths.
class EngineReaderTest : public testing::Test {
 protected:
  void Open(int port, const std::string& path = "", const std::string& engine = "") {
    reader_.emplace(EngineTarget{.at = {.server = {.host = "10.0.0.7",
                                                   .address = *ParseIpAddress("10.0.0.7"),
                                                   .port = port},
                                        .path = path},
                                 .engine = engine},
                    [this](const EngineTarget&, const EngineUpdate& update) {
                      engine_ = std::string(update.engine);
                      reading_ = update.reading;
                      ++reported_;
                    });
  }

  // The paths that one poll requests.
  std::vector<std::string> Poll() {
    const int reported = reported_;
    std::vector<std::string> paths;
    std::optional<ScrapeRequest> request = reader_->FirstRequest();
    while (request.has_value()) {
      paths.push_back(request->path);
      request = reader_->Take(absl::UnixEpoch(), Serve(request->path));
    }
    EXPECT_EQ(reported_, reported + 1) << "one report per poll";
    return paths;
  }

  absl::StatusOr<Page> Serve(const std::string& path) {
    if (!down_.ok()) return down_;
    const auto found = pages_.find(path);
    if (found == pages_.end()) return absl::NotFoundError("10.0.0.7:1" + path + ": it answers 404");
    return Page{.body = std::string(found->second)};
  }

  std::optional<double> Running() {
    EXPECT_TRUE(reading_.ok()) << reading_.status();
    return reading_.ok() ? ReadingOf(*reading_, "")->running : std::nullopt;
  }

  std::map<std::string, absl::string_view> pages_;
  absl::Status down_;
  std::optional<EngineReader> reader_;
  std::string engine_;
  absl::StatusOr<EngineReading> reading_;
  int reported_ = 0;
};

TEST_F(EngineReaderTest, RecognisedEngineIsReadOnItsPathOnly) {
  pages_["/metrics"] = kVllm;
  Open(8000);
  EXPECT_THAT(Poll(), ElementsAre("/metrics"));
  EXPECT_EQ(engine_, "vllm");
  EXPECT_EQ(Running(), 3);
  EXPECT_THAT(Poll(), ElementsAre("/metrics"));
}

TEST_F(EngineReaderTest, ExpositionOnAnotherPathIsFoundInTheSamePoll) {
  pages_["/v1/metrics"] = kNim;
  Open(8000);
  EXPECT_THAT(Poll(), ElementsAre("/metrics", "/v1/metrics"));
  EXPECT_EQ(engine_, "nim");
  EXPECT_EQ(Running(), 5);
  EXPECT_THAT(Poll(), ElementsAre("/v1/metrics"));
}

TEST_F(EngineReaderTest, UnknownExpositionDoesNotEndTheSearch) {
  pages_["/metrics"] = "[{\"iter\": 1}]";
  pages_["/prometheus/metrics"] = kTrtllm;
  Open(8000);
  EXPECT_THAT(Poll(), ElementsAre("/metrics", "/v1/metrics", "/prometheus/metrics"));
  EXPECT_EQ(engine_, "trtllm_serve");
  EXPECT_EQ(Running(), 7);
}

TEST_F(EngineReaderTest, PathOfTheEngineWithThatDefaultPortComesFirst) {
  pages_["/api/ps"] = "{\"models\": []}";
  Open(11434);
  EXPECT_THAT(Poll(), ElementsAre("/api/ps"));
  EXPECT_EQ(engine_, "ollama");
}

TEST_F(EngineReaderTest, ConfiguredPathIsTheOnlyOne) {
  pages_["/metrics"] = kVllm;
  Open(8000, "/stats");
  EXPECT_THAT(Poll(), ElementsAre("/stats"));
  EXPECT_EQ(reading_.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(engine_, "");
}

// llama.cpp's router answers HTTP 400 without ?model=, and otherwise as that model's server.
TEST_F(EngineReaderTest, ConfiguredQueryIsSent) {
  pages_["/metrics?model=qwen&autoload=false"] =
      "llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n";
  Open(8080, "/metrics?model=qwen&autoload=false");
  EXPECT_THAT(Poll(), ElementsAre("/metrics?model=qwen&autoload=false"));
  EXPECT_EQ(engine_, "llama_cpp");
  EXPECT_EQ(Running(), 2);
}

TEST_F(EngineReaderTest, NamedEngineIsReadAsThatEngine) {
  pages_["/metrics"] = kTgi;
  Open(8000, "", "vllm");
  EXPECT_THAT(Poll(), ElementsAre("/metrics"));
  EXPECT_EQ(reading_.status().code(), absl::StatusCode::kNotFound) << reading_.status();
  EXPECT_EQ(engine_, "vllm");
  pages_["/metrics"] = kVllm;
  Poll();
  EXPECT_EQ(Running(), 3);
}

TEST_F(EngineReaderTest, NamedEngineOfAnEarlierImageIsFoundOnTheUsualPath) {
  pages_["/metrics"] = kNim;
  Open(8000, "", "nim");
  EXPECT_THAT(Poll(), ElementsAre("/v1/metrics", "/metrics"));
  EXPECT_THAT(Poll(), ElementsAre("/metrics"));
  EXPECT_EQ(Running(), 5);
}

TEST_F(EngineReaderTest, AnotherEngineAtTheAddressIsRecognised) {
  pages_["/metrics"] = kVllm;
  Open(8000);
  Poll();
  pages_["/metrics"] = kTgi;
  EXPECT_THAT(Poll(), ElementsAre("/metrics"));
  EXPECT_EQ(engine_, "tgi");
  EXPECT_EQ(Running(), 1);
}

TEST_F(EngineReaderTest, AnotherEngineOnAnotherPathIsFound) {
  pages_["/metrics"] = kVllm;
  Open(8000);
  Poll();
  pages_.clear();
  pages_["/v1/metrics"] = kNim;
  EXPECT_THAT(Poll(), ElementsAre("/metrics", "/v1/metrics"));
  EXPECT_EQ(engine_, "nim");
}

TEST_F(EngineReaderTest, MalformedExpositionOfARecognisedEngineStartsNoSearch) {
  pages_["/metrics"] = kVllm;
  Open(8000);
  Poll();
  pages_["/metrics"] = kVllm.substr(0, kVllm.size() - 5);
  EXPECT_THAT(Poll(), ElementsAre("/metrics"));
  EXPECT_EQ(reading_.status().code(), absl::StatusCode::kInvalidArgument) << reading_.status();
  EXPECT_THAT(std::string(reading_.status().message()), HasSubstr("10.0.0.7:8000/metrics: "));
  EXPECT_EQ(engine_, "vllm");
  pages_["/metrics"] = kVllm;
  Poll();
  EXPECT_EQ(Running(), 3);
}

TEST_F(EngineReaderTest, UnreachableServerGetsOneRequestAPollAndKeepsItsPath) {
  pages_["/v1/metrics"] = kNim;
  Open(8000);
  for (const absl::Status& down :
       {absl::UnavailableError("refused"), absl::DeadlineExceededError("no answer"),
        absl::FailedPreconditionError("its certificate"), absl::UnauthenticatedError("401")}) {
    down_ = down;
    EXPECT_EQ(Poll().size(), 1) << down;
    EXPECT_EQ(reading_.status(), down);
  }
  down_ = absl::OkStatus();
  Poll();
  EXPECT_EQ(Running(), 5);
  down_ = absl::UnavailableError("refused");
  EXPECT_THAT(Poll(), ElementsAre("/v1/metrics"));
  EXPECT_EQ(engine_, "nim");
}

TEST_F(EngineReaderTest, ExpositionErrorPrecedesAMissingPath) {
  pages_["/metrics"] = "http_requests_total 1\n";
  Open(8080);
  EXPECT_EQ(Poll().size(), 4);
  EXPECT_THAT(std::string(reading_.status().message()),
              HasSubstr("10.0.0.7:8080/metrics: the page of no engine that is known: "));
  EXPECT_EQ(engine_, "");
}

TEST_F(EngineReaderTest, EmptyExpositionOfANamedEngineHasNoRequests) {
  pages_["/metrics"] = "";
  Open(80, "", "tgi");
  Poll();
  EXPECT_EQ(Running(), 0) << "it was named";

  Open(80);
  Poll();
  EXPECT_THAT(reading_.status().message(), HasSubstr("its page is empty"));
  EXPECT_EQ(engine_, "") << "any server may have an empty page";
  pages_["/metrics"] = kTgi;
  Poll();
  EXPECT_EQ(Running(), 1);
  pages_["/metrics"] = "";
  Poll();
  EXPECT_EQ(Running(), 0) << "it was started again";
  EXPECT_EQ(engine_, "tgi");
}

TEST_F(EngineReaderTest, InfoPathIdentifiesAnEmptyExposition) {
  pages_["/metrics"] = "";
  pages_["/info"] =
      R"({"model_id":"BAAI/bge-small","max_client_batch_size":32,"tokenization_workers":8})";
  Open(80);
  EXPECT_THAT(Poll(), testing::Contains("/info"));
  EXPECT_EQ(engine_, "tei");
  ASSERT_TRUE(reading_.ok()) << reading_.status();
  EXPECT_EQ(ReadingOf(*reading_, "")->waiting, 0);
  EXPECT_THAT(Poll(), ElementsAre("/metrics")) << "it is recognised now";
  pages_["/metrics"] = "te_queue_size 3\n";
  EXPECT_THAT(Poll(), ElementsAre("/metrics"));
  EXPECT_EQ(ReadingOf(*reading_, "")->waiting, 3);

  pages_["/metrics"] = "";
  pages_["/info"] = R"({"version":"1.2.3"})";
  Open(80);
  Poll();
  EXPECT_EQ(engine_, "") << "the info of another engine";
  EXPECT_THAT(reading_.status().message(), HasSubstr("its page is empty"));
  pages_["/metrics"] = "go_goroutines 5\n";
  EXPECT_THAT(Poll(), testing::Not(testing::Contains("/info"))) << "only where a page is empty";
}

TEST_F(EngineReaderTest, HistogramsAreReadWhileRequested) {
  const std::string page =
      std::string(kVllm) +
      "vllm:time_to_first_token_seconds_bucket{model_name=\"m\",le=\"+Inf\"} 1\n"
      "vllm:time_to_first_token_seconds_count{model_name=\"m\"} 1\n"
      "vllm:time_to_first_token_seconds_sum{model_name=\"m\"} 1\n";
  pages_["/metrics"] = page;
  Open(8000);
  const auto has_histogram = [this] {
    return ReadingOf(reading_.value(), "")->first_token_seconds.has_value();
  };
  Poll();
  EXPECT_FALSE(has_histogram());
  reader_->SetHistograms(true);
  Poll();
  EXPECT_TRUE(has_histogram());
}

}  // namespace
}  // namespace gpuscaler
