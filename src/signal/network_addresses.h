// The addresses at which others reach a network.
#pragma once

#include <string>
#include <vector>

namespace gpuscaler {

// Contents of the files of /proc/PID/net; empty if the kernel has no such file.
struct AddressTables {
  std::string fib_trie;  // IPv4 addresses, without their interfaces
  std::string route;
  std::string if_inet6;  // IPv6 addresses
  std::string ipv6_route;
};

// Returns distinct addresses such as "10.1.2.3" and "fd00::7", the likeliest first, without
// loopback and link-local ones.
//
// The addresses of the default route's interface come first: they are the pod's own network, while
// a second one (Multus, RDMA) need not be reachable. IPv4 comes before IPv6. Unreadable lines are
// skipped.
std::vector<std::string> NetworkAddresses(const AddressTables& tables);

}  // namespace gpuscaler
