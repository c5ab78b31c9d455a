#include "engine/engines.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(Engines, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Engine* engine : Engines()) {
    EXPECT_TRUE(names.insert(std::string(engine->name)).second) << engine->name;
    EXPECT_EQ(EngineNamed(engine->name), engine);
    EXPECT_GT(engine->port, 0) << engine->name;
    EXPECT_EQ(engine->path.substr(0, 1), "/") << engine->name;
  }
  EXPECT_EQ(EngineNamed("vLLM "), nullptr);
}

TEST(Recognise, OtherExpositionsAreNotRecognised) {
  const struct {
    const char* name;
    std::string page;
    absl::StatusCode want;
    const char* message;
  } rows[] = {
      {"another's metrics", "go_goroutines 5\nhttp_requests_total 7\n", absl::StatusCode::kNotFound,
       "no engine that is known: nim, triton, vllm, sglang, tgi, llama_cpp, ollama, tei"},
      {"nothing", "", absl::StatusCode::kNotFound,
       "its page is empty, as those of sglang, tgi, tei may be before their first request"},
      {"a name that only begins alike", "num_requests_running_total 5\n",
       absl::StatusCode::kNotFound, "no engine that is known"},
      {"HTML", "<!doctype html>\n<html></html>\n", absl::StatusCode::kInvalidArgument, "line 1: "},
      {"an engine's, cut off", "vllm:num_requests_running 5\nvllm:num_req",
       absl::StatusCode::kInvalidArgument, "line 2: "},
      {"another's JSON", "{\"status\":\"ok\"}", absl::StatusCode::kNotFound, "\"models\""},
  };
  for (const auto& row : rows) {
    const auto engine = Recognise(row.page, ExpositionFormat::kText);
    EXPECT_EQ(engine.status().code(), row.want) << row.name << ": " << engine.status();
    EXPECT_THAT(engine.status().message(), testing::HasSubstr(row.message)) << row.name;
  }
}

TEST(Engines, LaterVersionsMayHaveAnotherDefaultPort) {
  EXPECT_TRUE(IsDefaultPort(LlamaCpp(), 8080));
  EXPECT_TRUE(IsDefaultPort(LlamaCpp(), 9931));
  EXPECT_FALSE(IsDefaultPort(Vllm(), 9931));
  EXPECT_FALSE(IsDefaultPort(Vllm(), 0));
}

TEST(Recognise, ReadsOpenMetrics) {
  const auto engine =
      Recognise("vllm:num_requests_running 5\n# EOF\n", ExpositionFormat::kOpenMetrics);
  ASSERT_TRUE(engine.ok()) << engine.status();
  EXPECT_EQ(*engine, &Vllm());
}

}  // namespace
}  // namespace gpuscaler
