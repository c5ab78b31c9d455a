#include "simulate/curl_sender.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// Replies with `reply` to each request, one connection after the other. An empty reply closes the
// connection. Stops in its destructor.
class SequentialServer {
 public:
  explicit SequentialServer(std::string reply)
      : reply_(std::move(reply)), listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listening_, SOMAXCONN), 0);
    getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~SequentialServer() {
    stopping_ = true;
    shutdown(listening_, SHUT_RDWR);
    if (connection_ >= 0) shutdown(connection_, SHUT_RDWR);
    thread_.join();
    close(listening_);
  }

  std::string Url() const { return absl::StrCat("http://127.0.0.1:", port_, "/work"); }
  int connections() const { return connections_; }
  const std::string& request() const { return request_; }  // valid after a reply or the end

 private:
  void Run() {
    while (!stopping_) {
      connection_ = accept(listening_, nullptr, nullptr);
      if (connection_ < 0) return;
      ++connections_;
      char buffer[4096];
      ssize_t count = 0;
      while ((count = recv(connection_, buffer, sizeof(buffer), 0)) > 0) {
        request_.assign(buffer, static_cast<size_t>(count));
        if (reply_.empty()) break;
        send(connection_, reply_.data(), reply_.size(), MSG_NOSIGNAL);
      }
      close(connection_.exchange(-1));
    }
  }

  const std::string reply_;
  const int listening_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connection_ = -1;
  std::atomic<int> connections_ = 0;
  std::string request_;
  std::thread thread_;
};

// Blocks until `count` requests have finished, for 20 s at most.
std::vector<Answered> WaitFor(Sender& sender, size_t count) {
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  std::vector<Answered> all;
  while (all.size() < count && absl::Now() < deadline) {
    for (Answered& answered : sender.Wait(absl::Milliseconds(50))) all.push_back(answered);
  }
  return all;
}

std::vector<Answered> SendOne(const HttpWork& work) {
  const auto sender = OpenCurlSender(work);
  EXPECT_TRUE(sender.ok()) << sender.status();
  (*sender)->Send(7);
  return WaitFor(**sender, 1);
}

TEST(CurlSender, PostsItsBodyAndKeepsTheConnection) {
  const SequentialServer server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  const auto sender = OpenCurlSender({.url = server.Url(), .body = R"({"a": 1})"});
  ASSERT_TRUE(sender.ok()) << sender.status();
  for (int64_t id = 0; id < 20; ++id) {
    (*sender)->Send(id);
    const auto answers = WaitFor(**sender, 1);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].id, id);
    EXPECT_EQ(answers[0].error, "");
  }
  EXPECT_EQ(server.connections(), 1);
  EXPECT_THAT(server.request(), testing::StartsWith("POST /work HTTP/1.1\r\n"));
  EXPECT_THAT(server.request(), testing::EndsWith("\r\n\r\n{\"a\": 1}"));
}

TEST(CurlSender, ReportsTheKindOfError) {
  std::string refused_url;
  {
    const SequentialServer gone("");
    refused_url = gone.Url();
  }
  EXPECT_EQ(SendOne({.url = refused_url})[0].error, "cannot connect");
  const SequentialServer busy("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(SendOne({.url = busy.Url()})[0].error, "HTTP 503");
  const SequentialServer elsewhere(
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(SendOne({.url = elsewhere.Url()})[0].error, "HTTP 302") << "not followed";
  const SequentialServer closing("");
  EXPECT_EQ(SendOne({.url = closing.Url()})[0].error, "connection lost");
  const SequentialServer slow("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(SendOne({.url = slow.Url(), .timeout = absl::Milliseconds(100)})[0].error, "timeout");
}

TEST(CurlSender, HasManyInFlightAndReturnsEachOnce) {
  const SequentialServer server(
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  const auto sender = OpenCurlSender({.url = server.Url()});
  ASSERT_TRUE(sender.ok()) << sender.status();
  for (int64_t id = 0; id < 200; ++id) (*sender)->Send(id);
  std::set<int64_t> ids;
  for (const Answered& answered : WaitFor(**sender, 200)) ids.insert(answered.id);
  EXPECT_EQ(ids.size(), 200U);
}

TEST(CurlSender, RefusesInvalidUrls) {
  for (const char* url : {"", "localhost:8000", "ftp://x/", "file:///etc/passwd", "http://"}) {
    EXPECT_EQ(OpenCurlSender({.url = url}).status().code(), absl::StatusCode::kInvalidArgument)
        << url;
  }
}

TEST(CurlSender, SendsTheSameToAnyServer) {
  const std::string reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
  const SequentialServer one(reply), other(reply);
  const auto sender = OpenCurlSender({.url = one.Url(), .body = "{}"});
  ASSERT_TRUE(sender.ok()) << sender.status();
  for (int64_t id = 0; id < 4; ++id) {
    (*sender)->SendTo(id % 2 == 0 ? one.Url() : other.Url(), id);
    EXPECT_EQ(WaitFor(**sender, 1).size(), 1U);
  }
  EXPECT_EQ(one.connections(), 1) << "kept";
  EXPECT_EQ(other.connections(), 1);
}

}  // namespace
}  // namespace gpuscaler
