// IP addresses and blocks of them, as an operator writes them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// IPv4 is kept as ::ffff:a.b.c.d, so that the two ways to write one address are one.
struct IpAddress {
  std::array<uint8_t, 16> bytes = {};

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// "10.0.0.7", "::1", without brackets and zone. Empty for anything else, also with a NUL byte.
std::optional<IpAddress> ParseIpAddress(absl::string_view text);
std::string IpAddressText(const IpAddress& address);
bool IsIpv4(const IpAddress& address);

// All addresses that begin with the same bits.
struct IpBlock {
  IpAddress address;
  int bits = 128;  // of `bytes`: 96 more than an IPv4 block is written with

  bool Contains(const IpAddress& other) const;

  friend bool operator==(const IpBlock&, const IpBlock&) = default;
};

// "10.0.0.0/8", "fd00::/8", or one address. Empty for anything else, also where bits behind the
// prefix are set: 10.0.0.7/8 was meant otherwise.
std::optional<IpBlock> ParseIpBlock(absl::string_view text);

}  // namespace gpuscaler
