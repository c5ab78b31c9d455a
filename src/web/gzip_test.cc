#include "web/gzip.h"

#include <string>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(Gzip, ExpandsToTheSameBytes) {
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(1'000'000, 'x'), std::string("\0\xff\n", 3)}) {
    EXPECT_EQ(Gunzip(Gzip(text), 1 << 20).value_or("none"), text) << text.size();
  }
  EXPECT_LT(Gzip(std::string(1'000'000, 'x')).size(), 10'000u);
}

TEST(Gzip, BrokenOrTooLargeStreamsAreRefused) {
  const std::string packed = Gzip(std::string(100'000, 'x'));
  EXPECT_FALSE(Gunzip(packed, 99'999).ok());
  EXPECT_FALSE(Gunzip(packed.substr(0, packed.size() / 2), 1 << 20).ok());
  EXPECT_FALSE(Gunzip("<!doctype html>", 1 << 20).ok());
  EXPECT_FALSE(Gunzip("", 1 << 20).ok());
}

TEST(Gzip, IsAcceptedIfListedWithAWeight) {
  for (const char* header : {"gzip", "deflate, GZIP;q=0.5", "*", "br, *;q=0.1", "*;q=0, gzip"}) {
    EXPECT_TRUE(AcceptsGzip(header)) << header;
  }
  for (const char* header : {"", "br", "gzip;q=0", "gzip; q=0.0", "identity", "*;q=0", "gzip2",
                             "gzip;q=0, *", "gzip;q=x"}) {
    EXPECT_FALSE(AcceptsGzip(header)) << header;
  }
}

}  // namespace
}  // namespace gpuscaler
