// Network namespaces for tests: cut links and DNS names do not affect other processes.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace gpuscaler {

// Moves the process into a new network and mount namespace with loopback up. Must be called before
// a second thread starts. Needs root, or the right to create a user namespace.
absl::Status EnterOwnNetwork();

// Makes this process and its children resolve names at port 53 of `server`, with one attempt and
// `search` as the search list, as in a pod. A query without reply times out after
// `timeout_seconds`.
absl::Status UseOwnNameServer(const std::string& search = ".", int timeout_seconds = 1,
                              const std::string& server = "127.0.0.1");

// While this object exists, the calling thread and what it starts are in a network without IPv4;
// the only address is ::1. Needs EnterOwnNetwork().
class Ipv6OnlyNetwork {
 public:
  Ipv6OnlyNetwork();
  ~Ipv6OnlyNetwork();
  Ipv6OnlyNetwork(const Ipv6OnlyNetwork&) = delete;
  Ipv6OnlyNetwork& operator=(const Ipv6OnlyNetwork&) = delete;

  const absl::Status& made() const { return made_; }

 private:
  const int before_;  // the network namespace to return to
  absl::Status made_;
};

// A network namespace at the other end of a veth pair.
class Cable {
 public:
  Cable();
  ~Cable();
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  const absl::Status& status() const { return status_; }
  std::string far_address() const { return "10.77.0.2"; }

  // Moves the calling process to the far end; for Process's `in_child`.
  void EnterFarEnd() const;

  // Drops all packets in both directions; connections stay open.
  void Cut() const;
  void Mend() const;

 private:
  int far_namespace_ = -1;
  int far_socket_ = -1;  // a socket in the far namespace, to configure its interfaces
  absl::Status status_;
};

}  // namespace gpuscaler
