// Servers that respond with errors, with too much data, too slowly or not at all.
#include <unistd.h>

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_fetched_metrics.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ScrapeFaults, ErrorNamesPlaceAndAddress) {
  ScrapeRequest request = RequestTo(1);
  request.server.host = "llm.team-a.svc";
  const absl::Status refused = FetchOnce(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(refused.message(), "llm.team-a.svc:1/metrics (127.0.0.1): Connection refused");
}

struct Hostile {
  const char* name;
  std::string says;
  absl::StatusCode code;
  const char* want;
};

TEST(ScrapeFaults, ErrorResponsesAreDescribedPlainly) {
  const Hostile table[] = {
      {"nothing", "", absl::StatusCode::kUnavailable, "closed the connection without an answer"},
      {"garbage",
       std::string("\0\xff\x7f"
                   "binary\r\n\r\n",
                   13),
       absl::StatusCode::kFailedPrecondition, "its answer is not HTTP"},
      {"loading", EmptyAnswer(503), absl::StatusCode::kUnavailable, "it answers HTTP 503"},
      {"not there", EmptyAnswer(404), absl::StatusCode::kNotFound, "it answers HTTP 404"},
      {"no content", EmptyAnswer(204), absl::StatusCode::kFailedPrecondition,
       "it answers HTTP 204"},
      {"cut off", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour",
       absl::StatusCode::kUnavailable, "its answer was cut off"},
      {"redirect", EmptyAnswer(302, "Location: http://169.254.169.254/latest/meta-data/\r\n"),
       absl::StatusCode::kFailedPrecondition,
       "it answers HTTP 302, to 169.254.169.254: redirects are not followed"},
      {"redirect to a file", EmptyAnswer(301, "Location: file:///etc/passwd\r\n"),
       absl::StatusCode::kFailedPrecondition, "to elsewhere: redirects are not followed"},
      {"announces too much", "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n",
       absl::StatusCode::kResourceExhausted, "its page is larger than 4 MiB"},
      {"compressed", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
       absl::StatusCode::kFailedPrecondition, "its page is compressed, unasked"},
      {"many headers",
       "HTTP/1.1 200 OK\r\nX: " + std::string(50'000, 'x') + "\r\nY: " + std::string(50'000, 'y') +
           "\r\n\r\n",
       absl::StatusCode::kFailedPrecondition, "its headers are larger than 65536 bytes"},
  };
  for (const auto& [name, says, code, want] : table) {
    const absl::Status fault = FaultOf(SendingAndClosing(says));
    EXPECT_EQ(fault.code(), code) << name << ": " << fault;
    EXPECT_THAT(MessageOf(fault), HasSubstr(want)) << name;
    EXPECT_THAT(MessageOf(fault), StartsWith("127.0.0.1:")) << name;
  }
}

TEST(ScrapeFaults, TimeoutNamesTheMissingPhase) {
  const std::pair<std::string, const char*> table[] = {
      {"", "no answer within 1s"},
      {"HTTP/1.1 2", "no answer within 1s"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n", "its answer did not end within 1s"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour", "its answer did not end within 1s"},
  };
  for (const auto& [says, want] : table) {
    const absl::Status late = FaultOf(SendingAndHanging(says), absl::Seconds(1));
    EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << says << ": " << late;
    EXPECT_THAT(MessageOf(late), HasSubstr(want)) << says;
  }
}

TEST(ScrapeFaults, SlowServerTimesOutLikeAHungOne) {
  const absl::Status late = FaultOf(
      [](TestHttpConnection& connection) {
        connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        while (connection.Send("x")) usleep(1000);
      },
      absl::Milliseconds(100));
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
}

TEST(ScrapeFaults, EndlessBodyEndsAtTheSizeLimit) {
  const absl::Status fault = FaultOf([](TestHttpConnection& connection) {
    const std::string megabyte(size_t{1} << 20, 'x');
    connection.Send("HTTP/1.1 200 OK\r\n\r\n");
    while (connection.Send(megabyte)) {
    }
  });
  EXPECT_EQ(fault.code(), absl::StatusCode::kResourceExhausted) << fault;
  EXPECT_THAT(MessageOf(fault), HasSubstr("its page is larger than 4 MiB"));
}

TEST(ScrapeFaults, LargestAllowedPageIsReturned) {
  const TestHttpServer server(
      Serving([](absl::string_view) { return Answer(std::string(kMaxExpositionBytes, 'x')); }));
  const auto page = FetchOnce(RequestTo(server.port()));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body.size(), kMaxExpositionBytes);
}

}  // namespace
}  // namespace gpuscaler
