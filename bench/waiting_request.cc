#include "waiting_request.h"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

// A connection with a completion request that takes half an hour. An engine drops the request when
// its client closes the connection.
class Completion {
 public:
  explicit Completion(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in at = Loopback(port);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0) return;
    close(socket_);
    throw std::runtime_error(absl::StrCat("no engine at port ", port));
  }
  ~Completion() { close(socket_); }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  void Send() const {
    constexpr absl::string_view kBody = R"({"prompt": "a", "max_tokens": 100000})";
    const std::string request = absl::StrCat(
        "POST /v1/completions HTTP/1.1\r\nHost: engine\r\nContent-Length: ", kBody.size(),
        "\r\n\r\n", kBody);
    if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size())) {
      throw std::runtime_error("the engine takes no request");
    }
  }

 private:
  const int socket_;
};

class EngineQueue : public EdgeSource {
 public:
  explicit EngineQueue(int port) : port_(port), running_(port) { running_.Send(); }

  std::map<std::string, std::string> Trigger() const override {
    return {{"metricType", "requests_waiting"},
            {"engineEndpoint", absl::StrCat("http://127.0.0.1:", port_)},
            {"scope", "fleet"},
            {"targetValue", "1"},
            {"window", "0s"},
            {"activationWindow", "0s"}};
  }

  EdgeClock::time_point Rise() override {
    waiting_ = std::make_unique<Completion>(port_);
    const EdgeClock::time_point sent = EdgeClock::now();
    waiting_->Send();
    return sent;
  }

  void Fall() override { waiting_ = nullptr; }

 private:
  const int port_;
  const Completion running_;
  std::unique_ptr<Completion> waiting_;
};

class RedisStream : public EdgeSource {
 public:
  explicit RedisStream(int port) : port_(port), redis_(redisConnect("127.0.0.1", port), redisFree) {
    Do("XGROUP CREATE jobs workers $ MKSTREAM");
  }

  std::map<std::string, std::string> Trigger() const override {
    return {{"metricType", "redis_stream_lag"},
            {"redisAddress", absl::StrCat("127.0.0.1:", port_)},
            {"redisStream", "jobs"},
            {"redisConsumerGroup", "workers"},
            {"jobsPerReplica", "5"}};
  }

  EdgeClock::time_point Rise() override {
    const EdgeClock::time_point sent = EdgeClock::now();
    Do("XADD jobs * job 1");
    return sent;
  }

  void Fall() override { Do("XREADGROUP GROUP workers worker NOACK STREAMS jobs >"); }

 private:
  void Do(const char* command) const {
    const std::unique_ptr<void, decltype(&freeReplyObject)> reply(
        redisCommand(redis_.get(), command), freeReplyObject);
    if (reply == nullptr || static_cast<redisReply*>(reply.get())->type == REDIS_REPLY_ERROR) {
      throw std::runtime_error(absl::StrCat("Redis does not do ", command));
    }
  }

  const int port_;
  const std::unique_ptr<redisContext, decltype(&redisFree)> redis_;
};

class GatewayPage : public EdgeSource {
 public:
  GatewayPage() {
    const sockaddr_in at = Loopback(0);
    daemon_.reset(MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &Answer,
                                   this, MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_END));
    if (daemon_ == nullptr) throw std::runtime_error("no port for the gateway");
  }

  std::map<std::string, std::string> Trigger() const override {
    const int port = MHD_get_daemon_info(daemon_.get(), MHD_DAEMON_INFO_BIND_PORT)->port;
    return {{"metricType", "prometheus"},
            {"prometheusEndpoint", absl::StrCat("http://127.0.0.1:", port, "/metrics")},
            {"prometheusMetric", "gateway_queue_size{pool=\"chat\"}"},
            {"targetValue", "8"}};
  }

  EdgeClock::time_point Rise() override {
    waiting_ = 1;
    return EdgeClock::now();
  }

  void Fall() override { waiting_ = 0; }

 private:
  static MHD_Result Answer(void* gateway, MHD_Connection* connection, const char*, const char*,
                           const char*, const char*, size_t*, void**) {
    std::string page =
        absl::StrCat("# TYPE gateway_queue_size gauge\ngateway_queue_size{pool=\"chat\"} ",
                     static_cast<GatewayPage*>(gateway)->waiting_.load(), "\n");
    MHD_Response* const response =
        MHD_create_response_from_buffer(page.size(), page.data(), MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", "text/plain; version=0.0.4");
    const MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return queued;
  }

  std::atomic<int> waiting_ = 0;
  std::unique_ptr<MHD_Daemon, decltype(&MHD_stop_daemon)> daemon_{nullptr, MHD_stop_daemon};
};

}  // namespace

std::unique_ptr<EdgeSource> RequestAtEngine(int port) {
  return std::make_unique<EngineQueue>(port);
}
std::unique_ptr<EdgeSource> JobInRedis(int port) { return std::make_unique<RedisStream>(port); }
std::unique_ptr<EdgeSource> RequestAtGateway() { return std::make_unique<GatewayPage>(); }

}  // namespace gpuscaler
