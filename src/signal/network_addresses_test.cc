#include "signal/network_addresses.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "signal/kernel_address.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// eth0 10.1.2.3/24 with the default route; net1 192.168.7.3/16, a second network.
constexpr char kTrie[] = R"(Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.1.2.0/24 2 0 2
        |-- 10.1.2.0
           /24 link UNICAST
        |-- 10.1.2.3
           /32 host LOCAL
        |-- 10.1.2.255
           /32 link BROADCAST
     +-- 192.168.0.0/16 2 0 2
        |-- 192.168.7.3
           /32 host LOCAL
Local:
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.0
           /8 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
        |-- 10.1.2.3
           /32 host LOCAL
     |-- 169.254.20.10
        /32 host LOCAL
)";

constexpr char kRouteHead[] =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";

std::string Routes(const std::string& rows) { return kRouteHead + rows; }

TEST(NetworkAddresses, AreReachableFromOutside) {
  EXPECT_THAT(NetworkAddresses({.fib_trie = kTrie}), ElementsAre("10.1.2.3", "192.168.7.3"));
}

TEST(NetworkAddresses, TheDefaultRoutesInterfaceComesFirst) {
  const std::string by_net1 = Routes(
      "eth0\t0002010A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
      "net1\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
      "net1\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n");
  EXPECT_THAT(NetworkAddresses({.fib_trie = kTrie, .route = by_net1}),
              ElementsAre("192.168.7.3", "10.1.2.3"));
}

// Calico: eth0 has 10.1.2.3/32, and the next hop of its default route is in no subnet.
TEST(NetworkAddresses, AnAddressWithoutSubnetComesBeforeASecondNetworks) {
  const std::string routes = Routes(
      "eth0\t00000000\t0101FEA9\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
      "eth0\t0101FEA9\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n"
      "net1\t0002010A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
  EXPECT_THAT(NetworkAddresses({.fib_trie = kTrie, .route = routes}),
              ElementsAre("192.168.7.3", "10.1.2.3"));
}

TEST(NetworkAddresses, Ipv6AddressesAreGlobalAndInUse) {
  constexpr char kInterfaces[] =
      "fd000000000000000000000000000009 05 40 00 82     net1\n"
      "fd000000000000000000000000000002 04 40 00 82     eth0\n"
      "fd000000000000000000000000000003 04 40 00 c8     eth0\n"
      "00000000000000000000000000000001 01 80 10 80       lo\n"
      "fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n";
  constexpr char kNone[] = "00000000000000000000000000000000";
  const auto default_by = [&](const std::string& interface) {
    return std::string(kNone) + " 00 " + kNone +
           " 00 fd000000000000000000000000000001 00000400 00000003 00000000 00000003 " + interface +
           "\n";
  };
  EXPECT_THAT(NetworkAddresses({.if_inet6 = kInterfaces, .ipv6_route = default_by("eth0")}),
              ElementsAre("fd00::2", "fd00::9"));
  EXPECT_THAT(NetworkAddresses({.if_inet6 = kInterfaces, .ipv6_route = default_by("lo")}),
              ElementsAre("fd00::9", "fd00::2"));
  EXPECT_THAT(NetworkAddresses({.fib_trie = kTrie, .if_inet6 = kInterfaces}),
              ElementsAre("10.1.2.3", "192.168.7.3", "fd00::9", "fd00::2"));
}

TEST(NetworkAddresses, UnreadableLinesAreSkipped) {
  EXPECT_THAT(NetworkAddresses({}), IsEmpty());
  EXPECT_THAT(NetworkAddresses({.fib_trie = "|--\n/32 host LOCAL\n|-- x\n/32 host LOCAL\n",
                                .route = "eth0 0 0 0 0 0 0 0\n\x01\n",
                                .if_inet6 = "fd 04 40 00 82 eth0\nzz\n",
                                .ipv6_route = "a b c d e f g h i j\n"}),
              IsEmpty());
}

TEST(NetworkAddresses, LinesWithANulByteAreSkipped) {
  using std::string_literals::operator""s;
  EXPECT_THAT(NetworkAddresses({.fib_trie = "|-- 10.1.2.3\0x\n/32 host LOCAL\n"s}), IsEmpty());
  EXPECT_THAT(NetworkAddresses({.fib_trie = "|-- 10.1.2.3\n/32 host\0 LOCAL\n"s}), IsEmpty());
  const std::string default_by_net1 = Routes(
      "net1\t00000000\t0100A8C0\t0003\t0\t0\t\0\t00000000\t0\t0\t0\n"
      "net1\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"s);
  EXPECT_THAT(NetworkAddresses({.fib_trie = kTrie, .route = default_by_net1}),
              ElementsAre("10.1.2.3", "192.168.7.3"));
  EXPECT_THAT(
      NetworkAddresses({.if_inet6 = "fd000000000000000000000000000002 04 40 00 82     eth0\0\n"s}),
      IsEmpty());
}

TEST(Ipv4Number, TextWithANulByteIsInvalid) {
  using std::string_literals::operator""s;
  EXPECT_EQ(Ipv4Number("10.1.2.3"), 0x0a010203u);
  EXPECT_EQ(Ipv4Number("::ffff:10.1.2.3"), std::nullopt);
  EXPECT_EQ(Ipv4Number("10.1.2.3\0"s), std::nullopt);
  EXPECT_FALSE(IsLoopback("::1\0"s));
  EXPECT_FALSE(IsLinkLocal("fe80::1\0"s));
}

}  // namespace
}  // namespace gpuscaler
