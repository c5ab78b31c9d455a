#include "web/explanation_ring.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_random.h"
#include "web/test_points.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr absl::Duration kSecond = absl::Seconds(1);

std::string ExplanationText(int trigger, int number) {
  std::string text =
      absl::StrCat("value: ", number, " % of gpu_utilization of llm-", trigger, "\n");
  for (int replica = 0; replica < 4; ++replica) {
    absl::StrAppend(&text, "  llm-", trigger, "-", replica, " counted ", number * 7 % 100, " %\n");
  }
  return text;
}

TEST(ExplanationRing, FindsTheNewestAtOrBeforeAnInstant) {
  ExplanationRing ring(size_t{1} << 20);
  ExplanationRing::Chain chain;
  ring.Append(kFirstPoint, "a", chain);
  ring.Append(kFirstPoint + 10 * kSecond, "b", chain);
  EXPECT_FALSE(ring.FindAt(chain, kFirstPoint - kSecond).has_value());
  EXPECT_EQ(ring.FindAt(chain, kFirstPoint)->text, "a");
  EXPECT_EQ(ring.FindAt(chain, kFirstPoint + 9 * kSecond)->text, "a");
  EXPECT_EQ(ring.FindAt(chain, kFirstPoint + 9 * kSecond)->at, kFirstPoint);
  EXPECT_EQ(ring.FindAt(chain, kFirstPoint + 10 * kSecond)->text, "b");
  EXPECT_EQ(ring.FindAt(chain, absl::InfiniteFuture())->at, kFirstPoint + 10 * kSecond);
}

TEST(ExplanationRing, ListsTimesOfOneChainInOrder) {
  ExplanationRing ring(size_t{1} << 20);
  ExplanationRing::Chain ours;
  ExplanationRing::Chain others;
  for (int i = 0; i < 4; ++i) {
    ring.Append(kFirstPoint + i * kSecond, ExplanationText(0, i), ours);
    ring.Append(kFirstPoint + i * kSecond, ExplanationText(1, i), others);
  }
  EXPECT_THAT(ring.Times(ours, kFirstPoint + kSecond, kFirstPoint + 2 * kSecond),
              ElementsAre(kFirstPoint + kSecond, kFirstPoint + 2 * kSecond));
  EXPECT_THAT(ring.Times(ours, kFirstPoint + 4 * kSecond, absl::InfiniteFuture()), IsEmpty());
  EXPECT_THAT(ring.Times(ExplanationRing::Chain(), kFirstPoint, absl::InfiniteFuture()), IsEmpty());
}

// Whatever is still found has exactly the text that was appended, and the oldest leave first.
TEST(ExplanationRing, OldestOfAllChainsLeaveFirst) {
  ForManySeeds([](Random& random) {
    constexpr size_t kLimit = 64'000;
    constexpr int kChains = 5;
    ExplanationRing ring(kLimit);
    const size_t compressor = ring.bytes();
    std::map<int, ExplanationRing::Chain> chains;
    std::map<int, std::map<absl::Time, std::string>> appended;
    absl::Time now = kFirstPoint;
    for (int i = 0; i < 2'000; ++i) {
      now += kSecond;
      const int trigger = random.Whole(1, kChains);
      const std::string text = random.OneIn(50)
                                   ? std::string(random.Whole(0, 3'000), 'x')
                                   : ExplanationText(trigger, random.Whole(0, 100'000));
      ring.Append(now, text, chains[trigger]);
      appended[trigger][now] = text;
      ASSERT_LE(ring.bytes(), kLimit + compressor);
    }
    for (const auto& [trigger, texts] : appended) {
      const std::vector<absl::Time> kept =
          ring.Times(chains[trigger], absl::InfinitePast(), absl::InfiniteFuture());
      ASSERT_FALSE(kept.empty());
      ASSERT_LT(kept.size(), texts.size());
      // The kept ones are the last ones, without a hole.
      const auto first = texts.find(kept.front());
      ASSERT_EQ(std::distance(first, texts.end()), static_cast<ptrdiff_t>(kept.size()));
      for (auto text = first; text != texts.end(); ++text) {
        const auto found = ring.FindAt(chains[trigger], text->first);
        ASSERT_TRUE(found.has_value());
        ASSERT_EQ(found->at, text->first);
        ASSERT_EQ(found->text, text->second);
      }
      EXPECT_FALSE(ring.FindAt(chains[trigger], std::prev(first)->first).has_value());
    }
  });
}

TEST(ExplanationRing, SimilarTextsTakeAFractionOfTheirLength) {
  ExplanationRing ring(size_t{1} << 20);
  ExplanationRing::Chain chain;
  size_t written = 0;
  for (int i = 0; i < 1'000; ++i) {
    const std::string text =
        ExplanationText(1, i) + ExplanationText(2, i / 10) + ExplanationText(3, i / 100);
    written += text.size();
    ring.Append(kFirstPoint + i * kSecond, text, chain);
  }
  const size_t compressor = ExplanationRing(size_t{1} << 20).bytes();
  EXPECT_LT(ring.bytes() - compressor, written / 3);
}

TEST(ExplanationRing, ATextLargerThanABlockIsKept) {
  ExplanationRing ring(size_t{1} << 20);
  ExplanationRing::Chain chain;
  Random random(1);
  std::string large;
  for (int i = 0; i < 100'000; ++i) large += static_cast<char>(random.Whole(0, 255));
  ring.Append(kFirstPoint, large, chain);
  ring.Append(kFirstPoint + kSecond, "small", chain);
  EXPECT_EQ(ring.FindAt(chain, kFirstPoint)->text, large);
  EXPECT_EQ(ring.FindAt(chain, kFirstPoint + kSecond)->text, "small");
}

TEST(ExplanationRing, DropsBlocksThatAreTooOld) {
  ExplanationRing ring(size_t{1} << 20);
  ExplanationRing::Chain chain;
  ring.Append(kFirstPoint, "a", chain);
  ring.DropBefore(kFirstPoint);
  EXPECT_TRUE(ring.FindAt(chain, kFirstPoint).has_value());
  ring.DropBefore(kFirstPoint + kSecond);
  EXPECT_FALSE(ring.FindAt(chain, kFirstPoint).has_value());
  ring.Append(kFirstPoint + 2 * kSecond, "b", chain);
  EXPECT_EQ(ring.FindAt(chain, kFirstPoint + 2 * kSecond)->text, "b");
}

}  // namespace
}  // namespace gpuscaler
