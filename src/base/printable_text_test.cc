#include "base/printable_text.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(PrintableText, PrintableAsciiIsUnchanged) {
  EXPECT_EQ(PrintableText("ERR unknown command 'XLEN'"), "ERR unknown command 'XLEN'");
  EXPECT_EQ(PrintableText(""), "");
}

TEST(PrintableText, PrintableUtf8IsUnchanged) {
  for (const char* words :
       {"caf\xc3\xa9", "\xe9\x80\x9a\xe4\xb9\x89\xe5\x8d\x83\xe9\x97\xae-7b",
        "\xd0\xbc\xd0\xbe\xd0\xb4\xd0\xb5\xd0\xbb\xd1\x8c", "\xf0\x9f\xa6\x99", "\xef\xbf\xbd"}) {
    EXPECT_EQ(PrintableText(words), words);
  }
}

TEST(PrintableText, Utf8IsRecognized) {
  for (const char* text : {"", "llama", "caf\xc3\xa9", "\xf0\x9f\xa6\x99\n"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const char* text : {"\xff", "caf\xe9", "a\xf0\x9f\xa6", "\xc0\x80", "\xed\xa0\x80"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(PrintableText, BeginningHasWholeCharacters) {
  EXPECT_EQ(BeginningOf("llama", 9), "llama");
  EXPECT_EQ(BeginningOf("llama", 3), "lla");
  EXPECT_EQ(BeginningOf("caf\xc3\xa9!", 4), "caf");
  EXPECT_EQ(BeginningOf("caf\xc3\xa9!", 5), "caf\xc3\xa9");
  EXPECT_EQ(BeginningOf("\xf0\x9f\xa6\x99", 3), "");
}

TEST(PrintableText, ControlAndInvisibleCharactersAreReplaced) {
  const struct {
    const char* name;
    const char* words;
    const char* want;
  } rows[] = {
      {"escape, line breaks, tab", "\x1b[2Ja\r\nb\t", "?[2Ja??b?"},
      {"delete", "a\x7f", "a?"},
      {"CSI and next line in C1", "a\xc2\x9b\x32J\xc2\x85", "a?2J?"},
      {"separators of lines and paragraphs", "a\xe2\x80\xa8\xe2\x80\xa9", "a??"},
      {"zero width", "a\xe2\x80\x8b\xef\xbb\xbf", "a??"},
      {"direction override and isolate", "a\xe2\x80\xae\xe2\x81\xa6", "a??"},
      {"private use", "a\xee\x80\x80\xf4\x80\x80\x80", "a??"},
      {"tags", "a\xf3\xa0\x81\x81", "a?"},
  };
  for (const auto& row : rows) EXPECT_EQ(PrintableText(row.words), row.want) << row.name;
}

TEST(PrintableText, EachByteThatIsNotUtf8IsReplaced) {
  const struct {
    const char* name;
    const char* words;
    const char* want;
  } rows[] = {
      {"Latin-1", "caf\xe9!", "caf?!"},
      {"a continuation alone", "a\xa9", "a?"},
      {"cut off", "a\xe9\x80", "a??"},
      {"more than the shortest form", "a\xc1\x81\xe0\x81\x81\xf0\x80\x81\x81", "a?????????"},
      {"a surrogate", "a\xed\xa0\x80", "a???"},
      {"above U+10FFFF", "a\xf4\x90\x80\x80\xf5\x80\x80\x80", "a????????"},
      {"invalid lead bytes", "a\xf8\x90\x80\x80\xff", "a?????"},
  };
  for (const auto& row : rows) EXPECT_EQ(PrintableText(row.words), row.want) << row.name;
}

TEST(PrintableText, LongTextIsTruncated) {
  EXPECT_EQ(PrintableText("abcdef", 6), "abcdef");
  EXPECT_EQ(PrintableText("abcdefg", 6), "abcdef...");
}

TEST(PrintableText, CharactersAreNotSplit) {
  EXPECT_EQ(PrintableText("ab\xe9\x80\x9a", 5), "ab\xe9\x80\x9a");
  EXPECT_EQ(PrintableText("abc\xe9\x80\x9a", 5), "abc...");
}

TEST(EscapedLine, PrintableTextIsUnchanged) {
  for (const char* line : {"", "a \\n \"b\" 100 %", "caf\xc3\xa9", "\xe9\x80\x9a\xe4\xb9\x89-7b",
                           "\xf0\x9f\xa6\x99", "agent ::1: gone", "# Title", "a ## b [c]"}) {
    EXPECT_EQ(EscapedLine(line), line);
  }
}

TEST(EscapedLine, ControlCharactersAndCiCommandsAreEscaped) {
  const struct {
    const char* name;
    std::string line;
    const char* want;
  } rows[] = {
      {"line breaks, tab", "a\r\nb\t", "a\\r\\nb\\t"},
      {"escape, delete", "\x1b[2J\x7f", "\\x1b[2J\\x7f"},
      {"NUL", std::string("a\0b", 3), "a\\x00b"},
      {"CSI and next line in C1", "\xc2\x9b\x32J\xc2\x85", "\\u009b2J\\u0085"},
      {"separators", "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
      {"directions", "\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9",
       "\\u202a\\u202e\\u2066\\u2069"},
      {"above U+FFFF", "\xf3\xa0\x81\x81", "\\U000e0041"},
      {"not UTF-8", "caf\xe9!\xff", "caf\\xe9!\\xff"},
      {"a command of GitHub", "::error::x", "\\x3a:error::x"},
      {"behind blanks", " \xc2\xa0\xe3\x80\x80::error::x", " \xc2\xa0\xe3\x80\x80\\x3a:error::x"},
      {"its older form", "a ##[error]x", "a \\x23#[error]x"},
      {"a command of Azure", "a ##vso[task.complete]", "a \\x23#vso[task.complete]"},
      {"one more sign", "###[error]x", "#\\x23#[error]x"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(EscapedLine(row.line), row.want) << row.name;
    EXPECT_EQ(EscapedLine(row.want), row.want) << row.name;
  }
}

TEST(EscapedLines, EachLineIsEscapedAndEndsWithANewline) {
  EXPECT_EQ(EscapedLines({"a\nb", "", "::error::c"}), "a\\nb\n\n\\x3a:error::c\n");
  EXPECT_EQ(EscapedLines({}), "");
}

TEST(LinesWithoutBlankEnd, KeepsBlankLinesBeforeTheLast) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(LinesWithoutBlankEnd("a\n\nb\r\n\n"), (Lines{"a", "", "b\r"}));
  EXPECT_EQ(LinesWithoutBlankEnd("a"), Lines{"a"});
  EXPECT_EQ(LinesWithoutBlankEnd("\n"), Lines{""});
}

}  // namespace
}  // namespace gpuscaler
