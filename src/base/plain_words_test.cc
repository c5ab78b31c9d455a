#include "base/plain_words.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(PlainWords, WhatIsPlainStaysAsItIs) {
  EXPECT_EQ(PlainWords("ERR unknown command 'XLEN'"), "ERR unknown command 'XLEN'");
  EXPECT_EQ(PlainWords(""), "");
}

TEST(PlainWords, NothingMovesATerminalOrEndsALine) {
  EXPECT_EQ(PlainWords("\x1b[2Ja\r\nb\t\xc3\xa9"), "?[2Ja??b???");
}

TEST(PlainWords, LongOnesAreCut) {
  EXPECT_EQ(PlainWords("abcdef", 6), "abcdef");
  EXPECT_EQ(PlainWords("abcdefg", 6), "abcdef...");
}

}  // namespace
}  // namespace gpuscaler
