#include "discovery/kernel_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "page/cidr_block.h"

namespace gpuscaler {
namespace {

constexpr size_t kWordDigits = 8;
constexpr size_t kIpv6Digits = 32;

std::string Text(int family, const void* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text;
  return inet_ntop(family, bytes, text.data(), text.size());
}

std::string Ipv6Text(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) return Text(AF_INET, &address.s6_addr[12]);
  return Text(AF_INET6, &address);
}

std::optional<in6_addr> Ipv6Of(absl::string_view text) {
  const std::optional<IpAddress> parsed = ParseIpAddress(text);
  if (!IsIpv6(text) || !parsed) return std::nullopt;
  in6_addr address;
  std::ranges::copy(parsed->bytes, address.s6_addr);
  return address;
}

}  // namespace

std::optional<uint32_t> HexNumber(absl::string_view hex, size_t digits) {
  uint32_t number = 0;
  if (hex.size() != digits || !std::ranges::all_of(hex, absl::ascii_isxdigit)) return std::nullopt;
  if (!absl::SimpleHexAtoi(hex, &number)) return std::nullopt;
  return number;
}

std::optional<std::string> AddressOfWords(absl::string_view hex) {
  if (const auto word = HexNumber(hex, kWordDigits)) return Text(AF_INET, &*word);
  if (hex.size() != kIpv6Digits) return std::nullopt;
  in6_addr address;
  for (size_t i = 0; i < kIpv6Digits / kWordDigits; ++i) {
    const auto word = HexNumber(hex.substr(i * kWordDigits, kWordDigits), kWordDigits);
    if (!word) return std::nullopt;
    std::memcpy(&address.s6_addr[i * sizeof(*word)], &*word, sizeof(*word));
  }
  return Ipv6Text(address);
}

std::optional<std::string> AddressOfBytes(absl::string_view hex) {
  if (hex.size() != kIpv6Digits) return std::nullopt;
  in6_addr address;
  for (size_t i = 0; i < sizeof(address.s6_addr); ++i) {
    const auto byte = HexNumber(hex.substr(2 * i, 2), 2);
    if (!byte) return std::nullopt;
    address.s6_addr[i] = static_cast<uint8_t>(*byte);
  }
  return Ipv6Text(address);
}

std::optional<uint32_t> Ipv4Number(absl::string_view address) {
  const std::optional<IpAddress> parsed = ParseIpAddress(address);
  if (IsIpv6(address) || !parsed) return std::nullopt;
  uint32_t number = 0;
  std::memcpy(&number, &parsed->bytes[parsed->bytes.size() - sizeof(number)], sizeof(number));
  return ntohl(number);
}

bool IsLoopback(absl::string_view address) {
  const auto ipv6 = Ipv6Of(address);
  return absl::StartsWith(address, "127.") || (ipv6 && IN6_IS_ADDR_LOOPBACK(&*ipv6));
}

bool IsLinkLocal(absl::string_view address) {
  const auto ipv6 = Ipv6Of(address);
  return absl::StartsWith(address, "169.254.") || (ipv6 && IN6_IS_ADDR_LINKLOCAL(&*ipv6));
}

bool IsIpv6(absl::string_view address) { return absl::StrContains(address, ':'); }

}  // namespace gpuscaler
