// One attempt to connect to a server: its name, its addresses, TLS.
#pragma once

#include <event2/bufferevent.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "wire/client_tls.h"
#include "wire/event_loop.h"
#include "wire/target.h"

namespace gpuscaler {

using Connection = std::unique_ptr<bufferevent, FreeEvents>;

// Resolves the name, then tries all of its addresses in turn. Belongs to the loop's thread.
class ConnectAttempt {
 public:
  // UNAVAILABLE names the address and each reason. INVALID_ARGUMENT: the target is no address. Else
  // the error of the target's tls().
  using Done = std::function<void(absl::StatusOr<Connection>, ConnectFault)>;

  // `loop` and `target` outlive the attempt.
  ConnectAttempt(EventLoop& loop, const Target& target, Done done);
  ~ConnectAttempt();  // gives up
  ConnectAttempt(const ConnectAttempt&) = delete;
  ConnectAttempt& operator=(const ConnectAttempt&) = delete;

  // Calls `done` once, last of all, maybe before Start() returns. `done` may delete the attempt.
  void Start();

 private:
  struct Address {
    sockaddr_storage socket = {};
    socklen_t size = 0;
    std::string text;
  };
  struct Lookup;

  void StartUnix(const std::string& path);
  void StartLookup();
  void OnLookup();
  // Empty: `text` is a name.
  static std::optional<Address> AddressOf(const std::string& text, const std::string& port);
  void TryNext();
  void Wait(short what, void (ConnectAttempt::*then)());
  void OnConnected();
  void Handshake();
  void Connected();
  // Notes why the present address failed, and tries the next one.
  void FailAddress(const std::string& why, ConnectFault fault);
  void Fail(const absl::Status& status);

  EventLoop& loop_;
  const Target& target_;
  const Done done_;
  std::string host_, port_;
  std::vector<Address> addresses_;
  size_t next_ = 0;
  std::shared_ptr<Lookup> lookup_;
  int socket_ = -1;                   // until it is connected
  std::shared_ptr<SSL_CTX> context_;  // null: no TLS
  std::unique_ptr<SSL, FreeTls> tls_;
  OwnedEvent event_;
  void (ConnectAttempt::*then_)() = nullptr;  // when the socket is ready
  std::chrono::steady_clock::time_point until_;
  std::vector<std::string> reasons_;
  ConnectFault fault_;  // the last address's
};

}  // namespace gpuscaler
