#include "simulate/completion_api.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

TEST(CompletionApi, ReadsTokensOfARequest) {
  const struct {
    const char* name;
    const char* body;
    bool chat;
    int64_t prompt_tokens;
    int64_t max_tokens;
    bool stream;
  } cases[] = {
      {"text", R"({"model": "m", "prompt": "Now hello!!!", "max_tokens": 7})", false, 4, 7, false},
      {"defaults", R"({"prompt": ""})", false, 1, 16, false},
      {"tokens", R"({"prompt": [5, 6, 7], "stream": true})", false, 3, 16, true},
      {"texts", R"({"prompt": ["abcd", "efgh"]})", false, 4, 16, false},
      {"chat", R"({"messages": [{"role": "user", "content": "abcd"},
                                {"role": "user", "content": [{"type": "text", "text": "abcd"}]}],
                   "max_completion_tokens": 9, "max_tokens": 3})",
       true, 4, 9, false},
      {"null is none", R"({"prompt": "a", "max_tokens": null})", false, 1, 16, false},
  };
  for (const auto& test : cases) {
    const auto request = ParseCompletion(test.body, test.chat, "m");
    ASSERT_TRUE(request.ok()) << test.name << ": " << request.status();
    EXPECT_EQ(request->work.prompt_tokens, test.prompt_tokens) << test.name;
    EXPECT_EQ(request->work.max_tokens, test.max_tokens) << test.name;
    EXPECT_EQ(request->stream, test.stream) << test.name;
  }
}

TEST(CompletionApi, ReportsInvalidBodies) {
  const struct {
    const char* body;
    bool chat;
    const char* want;
  } cases[] = {
      {"", false, "no JSON object"},
      {"[]", false, "no JSON object"},
      {"{\"prompt\": \"a\"", false, "no JSON object"},
      {"{}", false, "prompt: missing"},
      {"{}", true, "messages: missing"},
      {R"({"prompt": 5})", false, "prompt: use"},
      {R"({"messages": []})", true, "messages: use"},
      {R"({"messages": ["a"]})", true, "messages: use"},
      {R"({"prompt": "a", "max_tokens": 0})", false, "max_tokens: use a whole number from 1"},
      {R"({"prompt": "a", "max_tokens": -1})", false, "max_tokens: use"},
      {R"({"prompt": "a", "max_tokens": "5"})", false, "max_tokens: use"},
      {R"({"prompt": "a", "max_tokens": 1e99})", false, "max_tokens: use"},
      {R"({"prompt": "a", "model": 5})", false, "model: use"},
      {R"({"messages": [{"content": [{"text": 5}]}]})", true, "use"},
  };
  for (const auto& test : cases) {
    const auto request = ParseCompletion(test.body, test.chat, "m");
    EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument) << test.body;
    EXPECT_THAT(request.status().ToString(), HasSubstr(test.want)) << test.body;
  }
  EXPECT_EQ(ParseCompletion(R"({"model": "x", "prompt": "a"})", false, "m").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(CompletionApi, AnswersWithTokensAndTheirUsage) {
  const CompletionRequest request = {.work = {.prompt_tokens = 5, .max_tokens = 3}};
  const auto reply =
      nlohmann::json::parse(CompletionReply(request, "m", 9, absl::FromUnixSeconds(77)));
  EXPECT_EQ(reply["object"], "text_completion");
  EXPECT_EQ(reply["id"], "cmpl-9");
  EXPECT_EQ(reply["created"], 77);
  EXPECT_EQ(reply["choices"][0]["text"], " token token token");
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 3);
  EXPECT_EQ(reply["usage"]["total_tokens"], 8);
}

TEST(CompletionApi, AModelNameMayBeInvalidUtf8) {
  const std::string reply = CompletionReply({}, "bad\xff", 9, absl::FromUnixSeconds(77));
  EXPECT_TRUE(nlohmann::json::accept(reply)) << reply;
  EXPECT_TRUE(nlohmann::json::accept(ModelsReply("bad\xff", absl::FromUnixSeconds(77))));
}

TEST(CompletionApi, AChatReturnsAMessageAndAStreamAnEvent) {
  CompletionRequest request = {.chat = true, .work = {.prompt_tokens = 5, .max_tokens = 1}};
  const auto reply = nlohmann::json::parse(CompletionReply(request, "m", 1, absl::UnixEpoch()));
  EXPECT_EQ(reply["choices"][0]["message"]["content"], " token");
  request.stream = true;
  const std::string events = CompletionReply(request, "m", 1, absl::UnixEpoch());
  EXPECT_THAT(events, testing::StartsWith("data: {"));
  EXPECT_THAT(events, testing::EndsWith("}\n\ndata: [DONE]\n\n"));
  EXPECT_THAT(events, HasSubstr("\"delta\""));
}

TEST(CompletionApi, ErrorsAreJsonForAnyMessage) {
  const auto error = nlohmann::json::parse(ErrorReply(404, "no \xff \"model\""));
  EXPECT_EQ(error["error"]["code"], 404);
  EXPECT_EQ(error["error"]["type"], "NotFoundError");
}

}  // namespace
}  // namespace gpuscaler
