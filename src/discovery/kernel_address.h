// Numbers and IP addresses as the kernel's tables in /proc/PID/net write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Of exactly so many hexadecimal digits, 8 at most; empty for anything else.
std::optional<uint32_t> HexNumber(absl::string_view hex, size_t digits);

// "0100007F" is 127.0.0.1 on a little-endian machine, as tcp and tcp6 have it: 8 or 32 hexadecimal
// digits, each 8 of them a number of the machine. ::ffff:10.1.2.3 becomes 10.1.2.3. Empty for
// anything else.
std::optional<std::string> AddressOfWords(absl::string_view hex);

// "fd000000000000000000000000000002": an IPv6 address byte by byte, as if_inet6 has it.
std::optional<std::string> AddressOfBytes(absl::string_view hex);

// "10.1.2.3" as a number, its first byte the highest; empty for anything but an IPv4 address.
std::optional<uint32_t> Ipv4Number(absl::string_view address);

// 127.0.0.0/8 and ::1: nobody outside of the network reaches it.
bool IsLoopback(absl::string_view address);
// 169.254.0.0/16 and fe80::/10: on one wire only.
bool IsLinkLocal(absl::string_view address);
bool IsIpv6(absl::string_view address);

}  // namespace gpuscaler
