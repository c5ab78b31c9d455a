// Debian's gRPC is the client.
#include "wire/wire_server.h"

#include <arpa/inet.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

// Answers each message with itself.
class Echo : public ServerCall::Handler {
 public:
  explicit Echo(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
  void OnMessage(std::string bytes) override { call_->Write(std::move(bytes)); }
  void OnLastMessage() override { call_->Finish(absl::OkStatus()); }

 private:
  const std::shared_ptr<ServerCall> call_;
};

// Answers with the peer's address.
class Peer : public ServerCall::Handler {
 public:
  explicit Peer(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
  void OnMessage(std::string) override {}
  void OnLastMessage() override {
    call_->Write(call_->headers().peer);
    call_->Finish(absl::OkStatus());
  }

 private:
  const std::shared_ptr<ServerCall> call_;
};

// Fails with the first message as its text.
class Fail : public ServerCall::Handler {
 public:
  explicit Fail(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
  void OnMessage(std::string bytes) override { call_->Finish(absl::NotFoundError(bytes)); }

 private:
  const std::shared_ptr<ServerCall> call_;
};

// Never answers; counts messages, and calls that ended.
class Hang : public ServerCall::Handler {
 public:
  Hang(std::atomic<int>& got, std::atomic<int>& ended) : got_(got), ended_(ended) {}
  void OnMessage(std::string) override { ++got_; }
  void OnEnd() override { ++ended_; }

 private:
  std::atomic<int>& got_;
  std::atomic<int>& ended_;
};

// Sends the numbers from 1 to the first message's from another thread, of which newer ones replace
// those that wait.
class Count : public ServerCall::Handler {
 public:
  explicit Count(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
  ~Count() override {
    if (thread_.joinable()) thread_.join();
  }
  void OnMessage(std::string bytes) override {
    thread_ = std::thread([call = call_, last = std::stoi(bytes)] {
      for (int i = 1; i <= last; ++i) call->WriteNewest(absl::StrCat(i));
      call->Finish(absl::OkStatus());
    });
  }

 private:
  const std::shared_ptr<ServerCall> call_;
  std::thread thread_;
};

class WireServerTest : public testing::Test {
 protected:
  Methods AllMethods() {
    return {{"/test.Echo/Echo", [](auto& call) { return std::make_unique<Echo>(call); }},
            {"/test.Echo/Peer", [](auto& call) { return std::make_unique<Peer>(call); }},
            {"/test.Echo/Fail", [](auto& call) { return std::make_unique<Fail>(call); }},
            {"/test.Echo/Count", [](auto& call) { return std::make_unique<Count>(call); }},
            {"/test.Echo/Hang", [this](auto&) { return std::make_unique<Hang>(got_, ended_); }}};
  }
  void Start(WireServerOptions options = {}) {
    if (options.bind_address.empty()) options.bind_address = "127.0.0.1";
    const std::string address = options.bind_address;
    auto server = WireServer::Start(std::move(options), AllMethods());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(
        server_->port() == 0 ? address : absl::StrCat(address, ":", server_->port()),
        grpc::InsecureChannelCredentials(), arguments);
  }

  struct Answer {
    std::vector<std::string> messages;
    grpc::Status status;
  };
  Answer Call(const std::string& method, const std::vector<std::string>& messages,
              absl::Duration timeout = absl::Seconds(10)) {
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
    const auto next = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    const auto call = stub.PrepareCall(&context, method, &queue);
    Answer answer;
    call->StartCall(nullptr);
    bool ok = next();
    for (size_t i = 0; ok && i < messages.size(); ++i) {
      const grpc::Slice slice(messages[i]);
      call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      ok = next();
    }
    call->WritesDone(nullptr);
    next();
    while (true) {
      grpc::ByteBuffer bytes;
      call->Read(&bytes, nullptr);
      if (!next()) break;
      grpc::Slice slice;
      EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
      answer.messages.emplace_back(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    call->Finish(&answer.status, nullptr);
    next();
    queue.Shutdown();
    return answer;
  }

  // Returns what a plain socket gets for `bytes`, until the server closes it.
  std::string Raw(const std::string& bytes) const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    std::string got;
    char buffer[4096];
    for (ssize_t size = 0; (size = recv(socket, buffer, sizeof(buffer), 0)) > 0;) {
      got.append(buffer, static_cast<size_t>(size));
    }
    close(socket);
    return got;
  }

  std::atomic<int> got_ = 0, ended_ = 0;
  std::unique_ptr<WireServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(WireServerTest, AnswersUnaryAndBidirectionalCalls) {
  Start();
  const Answer one = Call("/test.Echo/Echo", {"hello"});
  EXPECT_TRUE(one.status.ok()) << one.status.error_message();
  EXPECT_THAT(one.messages, testing::ElementsAre("hello"));
  const std::string large(1'900'000, 'x');  // more than a window
  const Answer more = Call("/test.Echo/Echo", {"", large, "b"});
  EXPECT_TRUE(more.status.ok()) << more.status.error_message();
  EXPECT_THAT(more.messages, testing::ElementsAre("", large, "b"));
}

TEST_F(WireServerTest, ServesAUnixSocket) {
  const TestFolder folder;
  const std::string address = "unix:" + folder.PathOf("s");
  Start({.bind_address = address});
  EXPECT_EQ(server_->port(), 0);
  EXPECT_THAT(Call("/test.Echo/Peer", {""}).messages, testing::ElementsAre("unix"));
  server_->Drain(absl::ZeroDuration());
  Start({.bind_address = address});
  EXPECT_THAT(Call("/test.Echo/Echo", {"again"}).messages, testing::ElementsAre("again"));
}

TEST_F(WireServerTest, HandsOverThePeersAddress) {
  Start();
  EXPECT_THAT(Call("/test.Echo/Peer", {""}).messages, testing::ElementsAre("127.0.0.1"));
}

TEST_F(WireServerTest, SendsStatusesWithTheirText) {
  Start();
  const Answer failed = Call("/test.Echo/Fail", {"no GPU: 100 %\n\xC3\xA4"});
  EXPECT_EQ(failed.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(failed.status.error_message(), "no GPU: 100 %\n\xC3\xA4");
  const Answer unknown = Call("/test.Echo/Nothing", {"x"});
  EXPECT_EQ(unknown.status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(unknown.status.error_message(), HasSubstr("/test.Echo/Nothing"));
  const Answer too_long = Call("/test.Echo/Echo", {std::string(3 << 20, 'x')});
  EXPECT_EQ(too_long.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(WireServerTest, SendsTheNewestOfWhatWaits) {
  Start();
  const Answer counted = Call("/test.Echo/Count", {"1000"});
  EXPECT_TRUE(counted.status.ok()) << counted.status.error_message();
  ASSERT_FALSE(counted.messages.empty());
  EXPECT_EQ(counted.messages.back(), "1000");
}

TEST_F(WireServerTest, EndsCallsAtTheirDeadline) {
  Start();
  const Answer hung = Call("/test.Echo/Hang", {"x"}, absl::Milliseconds(100));
  EXPECT_EQ(hung.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  for (int i = 0; i < 1000 && ended_ == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(ended_, 1);
}

TEST_F(WireServerTest, AnswersHttp1InPlainText) {
  Start();
  EXPECT_THAT(Raw("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), HasSubstr("This port serves gRPC"));
}

TEST_F(WireServerTest, ClosesConnectionsThatNeverSayWhatTheyAre) {
  WireServerOptions options;
  options.session.handshake = absl::Milliseconds(10);
  Start(std::move(options));
  EXPECT_EQ(Raw("PRI * HT"), "") << "until the server closes it";
}

TEST_F(WireServerTest, AsksSilentClientsAndClosesTheirConnections) {
  WireServerOptions options;
  options.session.keepalive = absl::Milliseconds(10);
  options.session.keepalive_timeout = absl::Milliseconds(1500);
  Start(std::move(options));
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  const std::string got = Raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings);
  const std::string ping("\0\0\10\6\0\0\0\0\0", 9);
  EXPECT_THAT(got, HasSubstr(ping));
}

TEST_F(WireServerTest, RefusesLargeHeaders) {
  WireServerOptions options;
  options.session.header_list_bytes = 200;
  Start(std::move(options));
  const grpc::Status status = Call("/test.Echo/Echo", {"x"}).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
}

TEST_F(WireServerTest, ClosesWhatIsBeyondItsConnections) {
  WireServerOptions options;
  options.connections = 0;
  Start(std::move(options));
  EXPECT_EQ(Raw(""), "");
}

TEST_F(WireServerTest, FinishesCallsWhenItDrains) {
  Start();
  Answer answer;
  std::thread caller([&] { answer = Call("/test.Echo/Hang", {"x"}, absl::Milliseconds(500)); });
  for (int i = 0; i < 1000 && got_ == 0; ++i) absl::SleepFor(absl::Milliseconds(1));
  ASSERT_EQ(got_, 1);
  server_->Drain(absl::Seconds(30));
  caller.join();
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED)
      << "it had all of its time: " << answer.status.error_message();
}

}  // namespace
}  // namespace gpuscaler
