#include "app/terminal_keys.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

Key Character(char character) { return {.code = KeyCode::kCharacter, .character = character}; }

TEST(KeysOf, AreThoseOfXtermAndTheConsole) {
  struct Case {
    std::string bytes;
    std::vector<Key> want;
  };
  const std::vector<Case> cases = {
      {"q/", {Character('q'), Character('/')}},
      {"\x1b[A", {{.code = KeyCode::kUp}}},
      {"\x1bOB", {{.code = KeyCode::kDown}}},
      {"\x1b[5~q", {{.code = KeyCode::kPageUp}, Character('q')}},
      {"\x1b[1~\x1b[F", {{.code = KeyCode::kHome}, {.code = KeyCode::kEnd}}},
      {"\t\r\x7f",
       {{.code = KeyCode::kTab}, {.code = KeyCode::kEnter}, {.code = KeyCode::kBackspace}}},
      {"\x1b", {{.code = KeyCode::kEscape}}},
      {"\x1bq", {{.code = KeyCode::kEscape}, Character('q')}},
  };
  for (const Case& test : cases) EXPECT_EQ(KeysOf(test.bytes), test.want) << test.bytes;
}

TEST(KeysOf, LeavesOutWhatNoKeyHas) {
  EXPECT_EQ(KeysOf("\x1b[1;5Cq"), std::vector<Key>{Character('q')}) << "Ctrl-Right";
  EXPECT_EQ(KeysOf("\x1b[<0;10;5Mq"), std::vector<Key>{Character('q')}) << "mouse";
  EXPECT_EQ(KeysOf("\x01\xc3\xa4q"), std::vector<Key>{Character('q')});
  EXPECT_EQ(KeysOf("\x1b["), std::vector<Key>{}) << "cut off";
  EXPECT_EQ(KeysOf(""), std::vector<Key>{});
}

}  // namespace
}  // namespace gpuscaler
