// The DNS of a cluster, as far as one headless Service goes: a real server on 127.0.0.1:53 of the
// test's own network.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace gpuscaler {

// Thread-safe.
class NameServer {
 public:
  explicit NameServer(std::vector<std::string> addresses);
  ~NameServer();

  // Every name has these IPv4 addresses from now on; with none it does not exist (NXDOMAIN), as
  // CoreDNS has it for a Service without pods.
  void Say(std::vector<std::string> addresses);
  void Fail();  // SERVFAIL from now on

  // Questions for IPv4 addresses answered since the last Say() or Fail().
  int asked() const;

 private:
  void Serve();
  std::string Reply(const std::string& question);

  int socket_ = -1;
  std::atomic<bool> stopping_ = false;
  mutable Mutex mutex_;
  std::vector<std::string> addresses_ ABSL_GUARDED_BY(mutex_);
  bool fails_ ABSL_GUARDED_BY(mutex_) = false;
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace gpuscaler
