// The DNS of a cluster, as far as one headless Service goes: a real server on port 53 of the test's
// own network, over UDP; over TCP it closes each connection.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace gpuscaler {

// What a question gets.
enum class DnsReply {
  kAddresses,
  kNone,  // NODATA: there is the name, and no such address of it
  kNoSuchName,
  kServerFailure,
  kRefused,
  kTooLong,             // for UDP: to be asked for over TCP
  kAlias,               // CNAME of kAliasTarget, and no word of what that has
  kAliasWithAddresses,  // CNAME of kAliasTarget, and its addresses
  kSilence,
};

inline constexpr char kAliasTarget[] = "elsewhere.example";

// Thread-safe.
class NameServer {
 public:
  // What questions get.
  struct Known {
    std::string name;  // that exists; empty: every one
    DnsReply ipv4 = DnsReply::kAddresses;
    DnsReply ipv6 = DnsReply::kNone;
    DnsReply target = DnsReply::kNoSuchName;  // of kAliasTarget, where the name is its alias
    DnsReply others = DnsReply::kNoSuchName;  // of every other name
  };

  explicit NameServer(std::vector<std::string> addresses);
  ~NameServer();

  // Every name has these addresses, of one family, from now on; with none it does not exist
  // (NXDOMAIN), as CoreDNS has it for a Service without pods.
  void Say(std::vector<std::string> addresses);
  void Fail();                       // SERVFAIL from now on
  void ReplyAs(const Known& known);  // from now on
  void ReplyTo(const std::string& name, DnsReply ipv4, DnsReply ipv6);

  // Questions for IPv4 addresses since the last of those.
  int asked() const;

 private:
  void Know(const Known& known) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Serve();
  void TakeQuestion();
  DnsReply ReplyFor(const std::string& name, bool ipv4) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Reply(const std::string& question);

  int socket_ = -1;
  int tcp_socket_ = -1;
  std::atomic<bool> stopping_ = false;
  mutable Mutex mutex_;
  std::vector<std::string> addresses_ ABSL_GUARDED_BY(mutex_);
  Known known_ ABSL_GUARDED_BY(mutex_);
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace gpuscaler
