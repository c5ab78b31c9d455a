// Under which addresses others reach a network.
#pragma once

#include <string>
#include <vector>

namespace gpuscaler {

// Files of /proc/PID/net, as they are; empty where the kernel has none.
struct AddressTables {
  std::string fib_trie;  // IPv4 addresses, without their interfaces
  std::string route;
  std::string if_inet6;  // IPv6 addresses
  std::string ipv6_route;
};

// "10.1.2.3", "fd00::7", the likeliest first; none twice. Without loopback and link-local ones.
//
// First those of the interface that the default route leaves by, a pod's own network: a second one
// (Multus, RDMA) need not be in reach. IPv4 before IPv6. What cannot be read is left out.
std::vector<std::string> NetworkAddresses(const AddressTables& tables);

}  // namespace gpuscaler
