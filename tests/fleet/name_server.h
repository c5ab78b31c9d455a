// A fake cluster DNS with one headless Service: a real server on port 53 of the test's network,
// over UDP. It closes each TCP connection.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace gpuscaler {

// The reply to a query.
enum class DnsReply {
  kAddresses,
  kNone,  // NODATA: the name exists without such an address
  kNoSuchName,
  kServerFailure,
  kRefused,
  kTooLong,             // truncated over UDP: the client must retry over TCP
  kAlias,               // CNAME of kAliasTarget, without the target's records
  kAliasWithAddresses,  // CNAME of kAliasTarget, with its addresses
  kSilence,
};

inline constexpr char kAliasTarget[] = "elsewhere.example";

// Thread-safe.
class NameServer {
 public:
  // The replies to queries.
  struct Replies {
    std::string name;  // the existing name; empty: all names exist
    DnsReply ipv4 = DnsReply::kAddresses;
    DnsReply ipv6 = DnsReply::kNone;
    DnsReply target = DnsReply::kNoSuchName;  // the reply for kAliasTarget if the name is its alias
    DnsReply others = DnsReply::kNoSuchName;  // the reply for every other name
  };

  explicit NameServer(std::vector<std::string> addresses);
  ~NameServer();

  // From now on every name has these addresses, all of one family. Without any it does not exist
  // (NXDOMAIN), as CoreDNS answers for a Service without pods.
  void SetAddresses(std::vector<std::string> addresses);
  void Fail();                           // SERVFAIL from now on
  void ReplyAs(const Replies& replies);  // from now on
  void ReplyTo(const std::string& name, DnsReply ipv4, DnsReply ipv6);

  // Returns the number of queries for IPv4 addresses since the last change of replies.
  int queries() const;

 private:
  void SetReplies(const Replies& replies) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Serve();
  void HandleQuery();
  DnsReply ReplyFor(const std::string& name, bool ipv4) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Reply(const std::string& query);

  int socket_ = -1;
  int tcp_socket_ = -1;
  std::atomic<bool> stopping_ = false;
  mutable Mutex mutex_;
  std::vector<std::string> addresses_ ABSL_GUARDED_BY(mutex_);
  Replies replies_ ABSL_GUARDED_BY(mutex_);
  int queries_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace gpuscaler
