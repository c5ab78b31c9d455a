#include "app/web_document.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

absl::StatusOr<WebDocument> DocumentOf(const std::string& body) {
  return WebDocumentOf(HttpAnswer{.status = 200, .body = body});
}

std::string Levels(size_t levels) {
  return absl::StrCat(R"({"a":)", std::string(levels - 1, '['), std::string(levels - 1, ']'), "}");
}

TEST(WebDocument, IsTheObjectOfAReply) {
  const auto document = DocumentOf(R"({"a":[1,"b"]})");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->dump(), R"({"a":[1,"b"]})");
  for (const std::string& other :
       {std::string(), std::string("[]"), std::string("null"), std::string("{"),
        std::string(R"({"a":1}x)"), std::string("{}\0x", 4), std::string("<html>")}) {
    const absl::Status refused = DocumentOf(other).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << other;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("--web-port")) << other;
  }
}

TEST(WebDocument, DeepJsonIsRefused) {
  constexpr size_t kMillion = 1'000'000;
  std::string objects;
  for (size_t i = 0; i < kMillion; ++i) absl::StrAppend(&objects, R"({"a":)");
  for (const std::string& deep : {Levels(33), Levels(kMillion), std::string(kMillion, '['), objects,
                                  absl::StrCat(objects, "1", std::string(kMillion, '}')),
                                  absl::StrCat(R"({"\\":"\"]",)", Levels(kMillion).substr(1))}) {
    EXPECT_EQ(DocumentOf(deep).status().code(), absl::StatusCode::kFailedPrecondition)
        << deep.substr(0, 20);
    const auto error = WebDocumentOf(HttpAnswer{.status = 503, .body = deep});
    EXPECT_EQ(error.status().code(), absl::StatusCode::kUnavailable) << deep.substr(0, 20);
  }
  EXPECT_TRUE(DocumentOf(Levels(32)).ok());
  EXPECT_TRUE(DocumentOf(absl::StrCat(R"({"\"":")", std::string(kMillion, '['), R"("})")).ok())
      << "brackets of a text are no levels";
}

TEST(WebDocument, ErrorsHaveTheServersText) {
  struct Case {
    int http_status;
    absl::StatusCode want;
  };
  for (const Case& test :
       {Case{400, absl::StatusCode::kInvalidArgument},
        Case{403, absl::StatusCode::kUnauthenticated}, Case{404, absl::StatusCode::kNotFound},
        Case{410, absl::StatusCode::kOutOfRange}, Case{503, absl::StatusCode::kUnavailable}}) {
    const auto document =
        WebDocumentOf(HttpAnswer{.status = test.http_status, .body = R"({"error":"it is gone"})"});
    EXPECT_EQ(document.status().code(), test.want) << test.http_status;
    EXPECT_EQ(std::string(document.status().message()), "it is gone") << test.http_status;
  }
  const auto message = [](int http_status, const std::string& body) {
    return std::string(
        WebDocumentOf(HttpAnswer{.status = http_status, .body = body}).status().message());
  };
  EXPECT_THAT(message(401, R"({"error":"no token"})"), HasSubstr("no token; use --token-file"));
  EXPECT_EQ(message(404, ""), "HTTP 404: is --server the --web-port of a keda-gpu-scaler?");
  EXPECT_EQ(message(400, R"({"error":"a\u001b[2Jb"})"), "a?[2Jb");
  EXPECT_LE(message(400, absl::StrCat(R"({"error":")", std::string(5000, 'x'), R"("})")).size(),
            1003u);
}

TEST(WebDocument, NoReplyIsAnErrorWithThePortForward) {
  const auto document = WebDocumentOf(absl::UnavailableError("http://127.0.0.1:1: no connection"));
  EXPECT_EQ(document.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(document.status().message()),
            "http://127.0.0.1:1: no connection; to reach a scaler in a cluster, run: kubectl -n "
            "gpu-scaler port-forward deployment/keda-gpu-scaler 8082");
  EXPECT_EQ(WebDocumentOf(absl::ResourceExhaustedError("too large")).status(),
            absl::ResourceExhaustedError("too large"));
}

}  // namespace
}  // namespace gpuscaler
