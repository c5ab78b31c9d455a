#include "page/cidr_block.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace gpuscaler {
namespace {

constexpr size_t kIpv4At = 12;  // offset in the 16 bytes
constexpr int kIpv4Bits = 32, kIpv6Bits = 128;
constexpr std::array<uint8_t, kIpv4At> kIpv4MappedPrefix = {0, 0, 0, 0, 0,    0,
                                                            0, 0, 0, 0, 0xff, 0xff};

bool Bit(const IpAddress& address, int bit) {
  return (address.bytes[static_cast<size_t>(bit) / 8] >> (7 - bit % 8) & 1) != 0;
}

bool IsZeroAfter(const IpAddress& address, int prefix_length) {
  for (int bit = prefix_length; bit < kIpv6Bits; ++bit) {
    if (Bit(address, bit)) return false;
  }
  return true;
}

}  // namespace

bool IsIpv4(const IpAddress& address) {
  return std::equal(kIpv4MappedPrefix.begin(), kIpv4MappedPrefix.end(), address.bytes.begin());
}

std::optional<IpAddress> ParseIpAddress(absl::string_view text) {
  if (absl::StrContains(text, '\0')) return std::nullopt;  // inet_pton() stops there
  const std::string written(text);
  IpAddress address;
  if (inet_pton(AF_INET6, written.c_str(), address.bytes.data()) == 1) return address;
  std::copy(kIpv4MappedPrefix.begin(), kIpv4MappedPrefix.end(), address.bytes.begin());
  if (inet_pton(AF_INET, written.c_str(), &address.bytes[kIpv4At]) == 1) return address;
  return std::nullopt;
}

std::string IpAddressText(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  const bool ipv4 = IsIpv4(address);
  inet_ntop(ipv4 ? AF_INET : AF_INET6, &address.bytes[ipv4 ? kIpv4At : 0], text.data(),
            text.size());
  return text.data();
}

bool CidrBlock::Contains(const IpAddress& other) const {
  for (int bit = 0; bit < prefix_length; ++bit) {
    if (Bit(address, bit) != Bit(other, bit)) return false;
  }
  return true;
}

std::optional<CidrBlock> ParseCidrBlock(absl::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const std::optional<IpAddress> address = ParseIpAddress(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == text.size()) return CidrBlock{.address = *address};
  const int offset = text.find(':') == absl::string_view::npos ? kIpv6Bits - kIpv4Bits : 0;
  int bits = 0;
  const absl::string_view written = text.substr(slash + 1);
  const bool digits = !written.empty() && written.find_first_not_of("0123456789") == written.npos;
  if (!digits || !absl::SimpleAtoi(written, &bits) || offset + bits > kIpv6Bits) {
    return std::nullopt;
  }
  const CidrBlock block{.address = *address, .prefix_length = offset + bits};
  if (!IsZeroAfter(block.address, block.prefix_length)) return std::nullopt;
  return block;
}

}  // namespace gpuscaler
