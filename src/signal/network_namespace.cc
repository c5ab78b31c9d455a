#include "signal/network_namespace.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "signal/network_addresses.h"
#include "signal/proc_file.h"

namespace gpuscaler {
namespace {

// Only a node's routes are longer, and they matter only if its network is the pod's.
constexpr size_t kLongestTable = size_t{1} << 20;

std::string NetFile(const std::string& proc, int64_t pid, const char* name) {
  return absl::StrCat(proc, "/", pid, "/net/", name);
}

// A kernel without IPv6 lacks its files.
absl::StatusOr<std::string> ReadIfThere(const std::string& path) {
  auto text = ReadProcFile(path, kLongestTable);
  if (absl::IsNotFound(text.status())) return std::string();
  return text;
}

}  // namespace

absl::StatusOr<uint64_t> NetworkNamespaceIdOf(const std::string& proc, int64_t pid) {
  const std::string path = NetFile(proc, pid, "tcp");
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) return ProcError(errno, path);
  return file.st_ino;
}

absl::StatusOr<NetworkNamespace> ReadNetworkNamespace(const std::string& proc, int64_t pid) {
  NetworkNamespace network;
  ASSIGN_OR_RETURN(network.id, NetworkNamespaceIdOf(proc, pid));
  ASSIGN_OR_RETURN(network.listeners, ReadListeners(proc, pid));
  AddressTables tables;
  ASSIGN_OR_RETURN(tables.fib_trie, ReadIfThere(NetFile(proc, pid, "fib_trie")));
  ASSIGN_OR_RETURN(tables.route, ReadIfThere(NetFile(proc, pid, "route")));
  ASSIGN_OR_RETURN(tables.if_inet6, ReadIfThere(NetFile(proc, pid, "if_inet6")));
  ASSIGN_OR_RETURN(tables.ipv6_route, ReadIfThere(NetFile(proc, pid, "ipv6_route")));
  network.addresses = NetworkAddresses(tables);
  // The tables of a process that ended meanwhile are empty.
  ASSIGN_OR_RETURN(const uint64_t id, NetworkNamespaceIdOf(proc, pid));
  if (id != network.id) return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  return network;
}

}  // namespace gpuscaler
