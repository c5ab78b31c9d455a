#include "signal/kernel_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "page/cidr_block.h"

namespace gpuscaler {
namespace {

constexpr size_t kWordDigits = 8;
constexpr size_t kIpv6Digits = 32;

bool IsInOneOf(const std::array<CidrBlock, 2>& blocks, absl::string_view address) {
  const std::optional<IpAddress> parsed = ParseIpAddress(address);
  return parsed && (blocks[0].Contains(*parsed) || blocks[1].Contains(*parsed));
}

}  // namespace

std::optional<uint32_t> HexNumber(absl::string_view hex, size_t digits) {
  uint32_t number = 0;
  if (hex.size() != digits || !std::ranges::all_of(hex, absl::ascii_isxdigit)) return std::nullopt;
  if (!absl::SimpleHexAtoi(hex, &number)) return std::nullopt;
  return number;
}

std::optional<std::string> AddressOfWords(absl::string_view hex) {
  if (const auto word = HexNumber(hex, kWordDigits)) {
    std::array<char, INET_ADDRSTRLEN> text;
    return inet_ntop(AF_INET, &*word, text.data(), text.size());
  }
  if (hex.size() != kIpv6Digits) return std::nullopt;
  IpAddress address;
  for (size_t i = 0; i < kIpv6Digits / kWordDigits; ++i) {
    const auto word = HexNumber(hex.substr(i * kWordDigits, kWordDigits), kWordDigits);
    if (!word) return std::nullopt;
    std::memcpy(&address.bytes[i * sizeof(*word)], &*word, sizeof(*word));
  }
  return IpAddressText(address);
}

std::optional<std::string> AddressOfBytes(absl::string_view hex) {
  if (hex.size() != kIpv6Digits || !std::ranges::all_of(hex, absl::ascii_isxdigit)) {
    return std::nullopt;
  }
  IpAddress address;
  std::ranges::copy(absl::HexStringToBytes(hex), address.bytes.begin());
  return IpAddressText(address);
}

std::optional<uint32_t> Ipv4Number(absl::string_view address) {
  const std::optional<IpAddress> parsed = ParseIpAddress(address);
  if (IsIpv6(address) || !parsed) return std::nullopt;
  uint32_t number = 0;
  std::memcpy(&number, &parsed->bytes[parsed->bytes.size() - sizeof(number)], sizeof(number));
  return ntohl(number);
}

bool IsLoopback(absl::string_view address) {
  static const std::array blocks = {*ParseCidrBlock("127.0.0.0/8"), *ParseCidrBlock("::1")};
  return IsInOneOf(blocks, address);
}

bool IsLinkLocal(absl::string_view address) {
  static const std::array blocks = {*ParseCidrBlock("169.254.0.0/16"),
                                    *ParseCidrBlock("fe80::/10")};
  return IsInOneOf(blocks, address);
}

bool IsIpv6(absl::string_view address) { return absl::StrContains(address, ':'); }

}  // namespace gpuscaler
