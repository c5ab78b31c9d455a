// Numbers and IP addresses in the format of the kernel's tables in /proc/PID/net.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Parses exactly `digits` hexadecimal digits, 8 at most. Returns nothing for any other text.
std::optional<uint32_t> HexNumber(absl::string_view hex, size_t digits);

// Parses "0100007F", 127.0.0.1 on a little-endian machine, as in tcp and tcp6: 8 or 32 hexadecimal
// digits, in groups of 8 that are a native integer each. Returns ::ffff:10.1.2.3 as 10.1.2.3, and
// nothing for any other text.
std::optional<std::string> AddressOfWords(absl::string_view hex);

// Parses "fd000000000000000000000000000002": an IPv6 address byte by byte, as in if_inet6.
std::optional<std::string> AddressOfBytes(absl::string_view hex);

// Returns "10.1.2.3" as a number, most significant byte first; nothing unless it is an IPv4
// address.
std::optional<uint32_t> Ipv4Number(absl::string_view address);

// 127.0.0.0/8 and ::1: not reachable from outside the network.
bool IsLoopback(absl::string_view address);
// 169.254.0.0/16 and fe80::/10: reachable on one link only.
bool IsLinkLocal(absl::string_view address);
bool IsIpv6(absl::string_view address);

}  // namespace gpuscaler
