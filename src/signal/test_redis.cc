#include "signal/test_redis.h"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace gpuscaler {
namespace {

using Context = std::unique_ptr<redisContext, decltype(&redisFree)>;

RedisReply Copy(const redisReply& reply) {
  RedisReply copy;
  copy.integer = reply.integer;
  if (reply.str != nullptr) copy.text.assign(reply.str, reply.len);
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      copy.kind = RedisReply::Kind::kInteger;
      break;
    case REDIS_REPLY_ERROR:
      copy.kind = RedisReply::Kind::kError;
      break;
    case REDIS_REPLY_NIL:
      break;
    case REDIS_REPLY_ARRAY:
      copy.kind = RedisReply::Kind::kList;
      for (size_t i = 0; i < reply.elements; ++i) copy.list.push_back(Copy(*reply.element[i]));
      break;
    default:
      copy.kind = RedisReply::Kind::kText;
  }
  return copy;
}

[[noreturn]] void Fail(const std::string& why) {
  std::cerr << "redis-server of the tests: " << why << "\n";
  std::abort();
}

}  // namespace

// Bound but never listening, while Redis shares the port (SO_REUSEADDR).
ReservedPort::ReservedPort(const std::string& address)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  inet_pton(AF_INET, address.c_str(), &place.sin_addr);
  socklen_t size = sizeof(place);
  if (bind(socket_, reinterpret_cast<sockaddr*>(&place), size) != 0) Fail("no port");
  getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size);
  number_ = ntohs(place.sin_port);
}

ReservedPort::~ReservedPort() { close(socket_); }

std::vector<std::string> TlsOptions(const TestFolder& folder, const TestCertificate& pair,
                                    const std::string& client_ca) {
  return {"--tls-cert-file",    folder.Write("cert.pem", pair.cert),
          "--tls-key-file",     folder.Write("key.pem", pair.key),
          "--tls-ca-cert-file", folder.Write("ca.pem", client_ca.empty() ? pair.cert : client_ca),
          "--tls-auth-clients", client_ca.empty() ? "no" : "yes"};
}

TestRedis::TestRedis(std::vector<std::string> options, const std::string& address)
    : options_(std::move(options)), address_(address), port_(address) {
  if (!TryStart({})) Fail("does not serve; is it installed? tools/setup");
}

TestRedis::~TestRedis() { Stop(); }

void TestRedis::Start(const std::vector<std::string>& more_options) {
  if (!TryStart(more_options)) Fail("does not serve again");
}

bool TestRedis::TryStart(const std::vector<std::string>& more_options) {
  const bool tls = !options_.empty() && options_[0] == "--tls-cert-file";
  std::vector<std::string> words = {"redis-server",
                                    "--bind",
                                    address_,
                                    "--dir",
                                    folder_.path(),
                                    "--unixsocket",
                                    folder_.PathOf("socket"),
                                    "--save",
                                    "",
                                    "--logfile",
                                    folder_.PathOf("log"),
                                    tls ? "--tls-port" : "--port",
                                    absl::StrCat(port())};
  if (tls) words.insert(words.end(), {"--port", "0"});
  words.insert(words.end(), options_.begin(), options_.end());
  words.insert(words.end(), more_options.begin(), more_options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // no server survives a crashed test
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (absl::Now() < deadline) {
    if (Serves()) return true;
    if (waitpid(process_, nullptr, WNOHANG) == process_) break;
    absl::SleepFor(absl::Milliseconds(5));
  }
  Stop();
  return false;
}

// Loading counts as serving: some tests need it.
bool TestRedis::Serves() const {
  const Context context(redisConnectUnix(folder_.PathOf("socket").c_str()), redisFree);
  if (context == nullptr || context->err != 0) return false;
  const std::unique_ptr<void, decltype(&freeReplyObject)> reply(redisCommand(context.get(), "PING"),
                                                                freeReplyObject);
  return reply != nullptr;
}

void TestRedis::Stop() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

void TestRedis::Freeze() const { kill(process_, SIGSTOP); }
void TestRedis::Thaw() const { kill(process_, SIGCONT); }

RedisReply TestRedis::Do(const RedisCommand& command) const {
  const Context context(redisConnectUnix(folder_.PathOf("socket").c_str()), redisFree);
  if (context == nullptr || context->err != 0) Fail("no socket");
  for (size_t i = 0; i + 1 < options_.size(); ++i) {
    if (options_[i] != "--requirepass") continue;
    freeReplyObject(redisCommand(context.get(), "AUTH %s", options_[i + 1].c_str()));
  }
  std::vector<const char*> words;
  std::vector<size_t> sizes;
  for (const std::string& word : command) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  const std::unique_ptr<void, decltype(&freeReplyObject)> reply(
      redisCommandArgv(context.get(), static_cast<int>(words.size()), words.data(), sizes.data()),
      freeReplyObject);
  if (reply == nullptr) Fail(absl::StrCat("no reply to ", command[0]));
  return Copy(*static_cast<const redisReply*>(reply.get()));
}

}  // namespace gpuscaler
