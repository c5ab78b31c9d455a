#include "page/cidr_block.h"

#include <string>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(CidrBlockTest, AddressesAreParsedInAllNotations) {
  EXPECT_EQ(IpAddressText(*ParseIpAddress("10.0.0.7")), "10.0.0.7");
  EXPECT_EQ(IpAddressText(*ParseIpAddress("::ffff:10.0.0.7")), "10.0.0.7");
  EXPECT_EQ(IpAddressText(*ParseIpAddress("FD00:0::0:1")), "fd00::1");
  for (const char* text :
       {"", "10.0.0", "10.0.0.256", "010.0.0.1", "[::1]", "fe80::1%eth0", "llm"}) {
    EXPECT_EQ(ParseIpAddress(text), std::nullopt) << text;
  }
}

TEST(CidrBlockTest, TextWithANulByteIsNoAddress) {
  using std::string_literals::operator""s;
  for (const std::string& text : {"10.0.0.7\0"s, "10.0.0.7\0x"s, "::1\0"s, "\0::1"s}) {
    EXPECT_EQ(ParseIpAddress(text), std::nullopt) << absl::CEscape(text);
    EXPECT_EQ(ParseCidrBlock(text), std::nullopt) << absl::CEscape(text);
  }
  EXPECT_EQ(ParseCidrBlock("10.0.0.0\0/8"s), std::nullopt);
}

TEST(CidrBlockTest, BlockContainsAddressesWithItsPrefix) {
  const CidrBlock block = *ParseCidrBlock("10.16.0.0/12");
  for (const char* inside : {"10.16.0.0", "10.31.255.255", "::ffff:10.20.1.1"}) {
    EXPECT_TRUE(block.Contains(*ParseIpAddress(inside))) << inside;
  }
  for (const char* outside : {"10.15.255.255", "10.32.0.0", "::10.16.0.1", "fd00::1"}) {
    EXPECT_FALSE(block.Contains(*ParseIpAddress(outside))) << outside;
  }
  EXPECT_TRUE(ParseCidrBlock("fd00::/8")->Contains(*ParseIpAddress("fdff::7")));
  EXPECT_FALSE(ParseCidrBlock("fd00::/8")->Contains(*ParseIpAddress("fe00::7")));
  EXPECT_TRUE(ParseCidrBlock("0.0.0.0/0")->Contains(*ParseIpAddress("192.0.2.1")));
  EXPECT_FALSE(ParseCidrBlock("0.0.0.0/0")->Contains(*ParseIpAddress("2001:db8::1")));
}

TEST(CidrBlockTest, OneAddressIsABlock) {
  EXPECT_TRUE(ParseCidrBlock("10.0.0.7")->Contains(*ParseIpAddress("10.0.0.7")));
  EXPECT_FALSE(ParseCidrBlock("10.0.0.7")->Contains(*ParseIpAddress("10.0.0.6")));
}

TEST(CidrBlockTest, InvalidBlocksAreRefused) {
  for (const char* text : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.7/8", "fd00::1/8",
                           "fd00::/129", "/8", "10.0.0.0/8/8"}) {
    EXPECT_EQ(ParseCidrBlock(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace gpuscaler
