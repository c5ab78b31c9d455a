// IP addresses and CIDR blocks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// IPv4 addresses are stored as ::ffff:a.b.c.d, so both notations of one address are equal.
struct IpAddress {
  std::array<uint8_t, 16> bytes = {};

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// Parses "10.0.0.7" or "::1", without brackets and zone. Returns nullopt for anything else, also
// for text with a NUL byte.
std::optional<IpAddress> ParseIpAddress(absl::string_view text);
std::string IpAddressText(const IpAddress& address);
bool IsIpv4(const IpAddress& address);

// All addresses with the same prefix.
struct CidrBlock {
  IpAddress address;
  int prefix_length = 128;  // in `bytes`: an IPv4 block's length plus 96

  bool Contains(const IpAddress& other) const;

  friend bool operator==(const CidrBlock&, const CidrBlock&) = default;
};

// Parses "10.0.0.0/8", "fd00::/8" or one address. Returns nullopt for anything else, also if bits
// after the prefix are set: 10.0.0.7/8 is probably a mistake.
std::optional<CidrBlock> ParseCidrBlock(absl::string_view text);

}  // namespace gpuscaler
