// A network of the test's own: what it cuts and what it names is seen by nobody else.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace gpuscaler {

// Puts the process, which has no second thread yet, into a network and a mount namespace of its
// own, with loopback up. Needs root, or the right to be root in a user namespace of its own.
absl::Status EnterOwnNetwork();

// From here on this process and its children ask port 53 of `server` for names, once, in each of
// these domains first, as a pod does. One that is not answered is waited for so many seconds.
absl::Status AskOwnNameServer(const std::string& search = ".", int timeout_seconds = 1,
                              const std::string& server = "127.0.0.1");

// While this lives, the calling thread and the processes and threads that it starts are in a
// network without IPv4: the only address is ::1. Needs EnterOwnNetwork().
class Ipv6OnlyNetwork {
 public:
  Ipv6OnlyNetwork();
  ~Ipv6OnlyNetwork();
  Ipv6OnlyNetwork(const Ipv6OnlyNetwork&) = delete;
  Ipv6OnlyNetwork& operator=(const Ipv6OnlyNetwork&) = delete;

  const absl::Status& made() const { return made_; }

 private:
  const int before_;  // the network namespace to go back to
  absl::Status made_;
};

// A network namespace at the far end of a cable.
class Cable {
 public:
  Cable();
  ~Cable();
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  const absl::Status& laid() const { return laid_; }
  std::string far_address() const { return "10.77.0.2"; }

  // The calling process goes to the far end; for Process's `in_child`.
  void GoThere() const;

  // What is sent vanishes, either way, as nobody is told.
  void Cut() const;
  void Mend() const;

 private:
  int far_namespace_ = -1;
  int far_socket_ = -1;  // of the far namespace: speaks for its interfaces
  absl::Status laid_;
};

}  // namespace gpuscaler
