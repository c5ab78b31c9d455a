#include "signal/network_addresses.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "signal/kernel_address.h"

namespace gpuscaler {
namespace {

using Columns = std::vector<absl::string_view>;

std::vector<Columns> Rows(absl::string_view table, size_t least_columns) {
  std::vector<Columns> rows;
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    if (absl::StrContains(line, '\0')) continue;  // the kernel writes none
    Columns columns = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (columns.size() >= least_columns) rows.push_back(std::move(columns));
  }
  return rows;
}

// The network that an address belongs to, the one that others most likely reach first.
enum Rank {
  kOnDefaultRoute,   // on the interface of the default route
  kUnknown,          // IPv4: no route covers it; IPv6: on another interface
  kOnOtherInterface  // on another interface, such as a second network of the pod
};

struct Ranked {
  Rank rank;
  std::string address;
};

// /proc/PID/net/route: Iface Destination Gateway Flags RefCnt Use Metric Mask ...
struct Ipv4Route {
  absl::string_view interface;
  uint32_t network = 0;
  uint32_t mask = 0;
};

std::vector<Ipv4Route> Ipv4Routes(absl::string_view table) {
  constexpr size_t kDestinationColumn = 1, kMaskColumn = 7;
  std::vector<Ipv4Route> routes;
  for (const Columns& columns : Rows(table, kMaskColumn + 1)) {
    const auto network = AddressOfWords(columns[kDestinationColumn]);
    const auto mask = AddressOfWords(columns[kMaskColumn]);
    if (!network || !mask || IsIpv6(*network) || IsIpv6(*mask)) continue;  // the header
    routes.push_back({.interface = columns[0],
                      .network = Ipv4Number(*network).value_or(0),
                      .mask = Ipv4Number(*mask).value_or(0)});
  }
  return routes;
}

Rank RankOf(const std::string& address, const std::vector<Ipv4Route>& routes) {
  const uint32_t number = Ipv4Number(address).value_or(0);
  const auto first_default = std::ranges::find(routes, 0U, &Ipv4Route::mask);
  Rank rank = kUnknown;
  for (const Ipv4Route& route : routes) {
    if (route.mask == 0 || (number & route.mask) != route.network) continue;
    if (first_default != routes.end() && route.interface == first_default->interface) {
      return kOnDefaultRoute;
    }
    rank = kOnOtherInterface;
  }
  return rank;
}

// Leaves of the trie, "|-- 10.1.2.3", each followed by lines that describe it: "/32 host LOCAL" is
// an address of this network.
std::vector<Ranked> Ipv4Addresses(const AddressTables& tables) {
  const std::vector<Ipv4Route> routes = Ipv4Routes(tables.route);
  std::vector<Ranked> addresses;
  absl::string_view leaf;
  for (const Columns& columns : Rows(tables.fib_trie, 2)) {
    if (columns[0] == "|--") {
      leaf = columns[1];
    } else if (columns[0] == "/32" && columns.back() == "LOCAL" && Ipv4Number(leaf)) {
      std::string address(leaf);
      const Rank rank = RankOf(address, routes);
      addresses.push_back({.rank = rank, .address = std::move(address)});
    }
  }
  return addresses;
}

// /proc/PID/net/ipv6_route: destination, its length, source, its length, next hop, metric,
// references, uses, flags, interface. A default route through lo means unreachable.
absl::string_view Ipv6DefaultInterface(absl::string_view table) {
  constexpr size_t kColumns = 10;
  for (const Columns& columns : Rows(table, kColumns)) {
    const bool to_all = columns[1] == "00" && AddressOfBytes(columns[0]) == "::";
    if (to_all && columns.back() != "lo") return columns.back();
  }
  return "";
}

// /proc/PID/net/if_inet6: address, interface index, length, scope, flags, interface.
std::vector<Ranked> Ipv6Addresses(const AddressTables& tables) {
  constexpr size_t kFlagsColumn = 4, kColumns = 6;
  constexpr uint32_t kDuplicate = 0x08, kTentative = 0x40;  // linux/if_addr.h: not in use (yet)
  const absl::string_view default_interface = Ipv6DefaultInterface(tables.ipv6_route);
  std::vector<Ranked> addresses;
  for (const Columns& columns : Rows(tables.if_inet6, kColumns)) {
    auto address = AddressOfBytes(columns[0]);
    const auto flags = HexNumber(columns[kFlagsColumn], 2);
    if (!address || !flags || (*flags & (kDuplicate | kTentative)) != 0) continue;
    const bool is_default = columns.back() == default_interface;
    addresses.push_back(
        {.rank = is_default ? kOnDefaultRoute : kUnknown, .address = *std::move(address)});
  }
  return addresses;
}

}  // namespace

std::vector<std::string> NetworkAddresses(const AddressTables& tables) {
  std::vector<Ranked> ranked = Ipv4Addresses(tables);
  for (Ranked& ipv6 : Ipv6Addresses(tables)) ranked.push_back(std::move(ipv6));
  std::ranges::stable_sort(ranked, {}, &Ranked::rank);
  std::vector<std::string> addresses;
  for (Ranked& entry : ranked) {
    if (IsLoopback(entry.address) || IsLinkLocal(entry.address)) continue;
    // A trie with two tables lists each address twice.
    const bool is_new = std::ranges::find(addresses, entry.address) == addresses.end();
    if (is_new) addresses.push_back(std::move(entry.address));
  }
  return addresses;
}

}  // namespace gpuscaler
