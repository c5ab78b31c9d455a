#include "wire/message_reader.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;

constexpr size_t kFew = CallBudget::kFew;

std::string Framed(const std::string& message, char flags = 0) {
  const size_t size = message.size();
  return std::string{flags, static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                     static_cast<char>(size >> 8), static_cast<char>(size)} +
         message;
}

class MessageReaderTest : public testing::Test {
 protected:
  absl::Status Add(absl::string_view bytes) {
    return reader_.Add(bytes,
                       [&](std::string message) { messages_.push_back(std::move(message)); });
  }

  MessageBudget budget_{100};
  MessageReader reader_{2000, budget_};
  std::vector<std::string> messages_;
};

TEST_F(MessageReaderTest, FindsMessagesInPiecesOfAnySize) {
  const std::string bytes = Framed("one") + Framed("") + Framed("three");
  for (const size_t piece : {1UL, 2UL, 7UL, 100UL}) {
    messages_.clear();
    for (size_t i = 0; i < bytes.size(); i += piece) {
      ASSERT_TRUE(Add(absl::string_view(bytes).substr(i, piece)).ok());
    }
    EXPECT_THAT(messages_, ElementsAre("one", "", "three"));
    EXPECT_TRUE(reader_.is_complete());
    EXPECT_EQ(budget_.taken(), 0);
  }
}

TEST_F(MessageReaderTest, RefusesLongAndCompressedMessages) {
  EXPECT_EQ(Add(Framed(std::string(2001, 'x'))).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(MessageReaderTest, RefusesCompressedMessages) {
  EXPECT_EQ(Add(Framed("x", 1)).code(), absl::StatusCode::kUnimplemented);
}

TEST_F(MessageReaderTest, RefusesUnknownFlags) {
  EXPECT_EQ(Add(Framed("x", 2)).code(), absl::StatusCode::kInternal);
}

// Only what has come counts: a long message that is merely announced costs nothing.
TEST_F(MessageReaderTest, ReleasesUnfinishedBytesWhenDestroyed) {
  {
    MessageReader other(2000, budget_);
    const auto take = [](const std::string&) {};
    EXPECT_TRUE(other.Add(Framed(std::string(1000, 'x')).substr(0, 5 + kFew), take).ok());
    EXPECT_EQ(budget_.taken(), 0) << "so few do not count";
    EXPECT_TRUE(other.Add(std::string(60, 'x'), take).ok());
    EXPECT_EQ(budget_.taken(), 60);
    EXPECT_TRUE(Add(Framed(std::string(1000, 'x')).substr(0, 5 + kFew + 40)).ok());
    EXPECT_EQ(other.Add("x", take).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_FALSE(reader_.is_complete());
  }
  EXPECT_EQ(budget_.taken(), 40);
}

TEST_F(MessageReaderTest, TakesWholeMessagesWithoutABudget) {
  ASSERT_TRUE(budget_.Take(100));
  EXPECT_TRUE(Add(Framed("one") + Framed("two")).ok());
  EXPECT_THAT(messages_, ElementsAre("one", "two"));
  const std::string part = Framed(std::string(1000, 'x')).substr(0, 5 + kFew + 1);
  EXPECT_EQ(Add(part).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(reader_.is_too_long());
}

TEST_F(MessageReaderTest, ReleasesKeptBytesWhenDestroyed) {
  MessageBudget whole(20'000), part(6000, &whole);
  {
    MessageReader reader(50, part);
    EXPECT_TRUE(reader.Reserve(kFew + 4000));
    EXPECT_FALSE(reader.Reserve(2001)) << "more than its part";
    EXPECT_EQ(part.taken(), 4000);
    EXPECT_EQ(whole.taken(), 4000);
    reader.Release(4000);
    EXPECT_EQ(part.taken(), 0);
    EXPECT_EQ(whole.taken(), 0);
    EXPECT_TRUE(reader.Reserve(4000)) << "the first ones were few already";
  }
  EXPECT_EQ(part.taken(), 0);
}

TEST(MessageBudgetTest, PartsTakeHalfOfWhatTheOthersLeave) {
  MessageBudget whole(10'000), large(8000, &whole), next(8000, &whole), last(100, &whole);
  EXPECT_FALSE(large.Take(5001));
  EXPECT_TRUE(large.Take(5000));
  EXPECT_FALSE(next.Take(2501));
  EXPECT_TRUE(next.Take(2500));
  EXPECT_FALSE(next.Take(1));
  EXPECT_TRUE(large.Take(0)) << "although it has more than its share by now";
  EXPECT_FALSE(last.Take(101));
  EXPECT_TRUE(last.Take(100));
  EXPECT_EQ(whole.taken(), 7600);
  large.Return(5000);
  EXPECT_TRUE(next.Take(2450)) << "half of 9,900";
  EXPECT_FALSE(next.Take(1));
}

}  // namespace
}  // namespace gpuscaler
