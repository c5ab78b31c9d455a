#include "model/point_block.h"

#include <random>

#include "gtest/gtest.h"
#include "model/node_history.h"

namespace gpuscaler {
namespace {

// Blocks as NodeHistory makes them, beside the points that they must return.
class Blocks {
 public:
  void Add(const NodePoints& points) {
    if (blocks_.empty() || !blocks_.back()->Append(points)) {
      const PointBlock* const before = blocks_.empty() ? nullptr : blocks_.back().get();
      blocks_.push_back(std::make_shared<PointBlock>(layout_, points, before));
    }
    places_.push_back({.block = blocks_.back().get(), .instant = blocks_.back()->size() - 1});
    all_.push_back(points);
    ASSERT_TRUE(blocks_.back()->NewestIs(points));
  }
  void ExpectAll() const {
    for (size_t i = 0; i < all_.size(); ++i) Expect(all_[i], places_[i], i);
  }
  size_t count() const { return blocks_.size(); }
  const PointBlock& newest() const { return *blocks_.back(); }

 private:
  static void Expect(const NodePoints& points, const NodeRun& kept, size_t instant) {
    ASSERT_EQ(kept.block->gpus(), points.gpus.size());
    for (size_t gpu = 0; gpu < points.gpus.size(); ++gpu) {
      Expect(points.gpus[gpu], kept.point(gpu), instant);
    }
    ASSERT_EQ(kept.has_shares(), !points.shares.empty());
    for (size_t i = 0; i < points.shares.size(); ++i) EXPECT_EQ(kept.share(i), points.shares[i]);
  }
  static void Expect(const GpuPoint& point, const GpuPointView& kept, size_t instant) {
    for (size_t i = 0; i < kGpuReadings; ++i) {
      const GpuReading reading = static_cast<GpuReading>(i);
      ASSERT_EQ(kept.Value(reading), point.Value(reading)) << "reading " << i << " at " << instant;
      ASSERT_EQ(kept.Has(reading), point.Has(reading)) << "reading " << i << " at " << instant;
    }
    ASSERT_EQ(kept.in_use(), point.in_use()) << instant;
    ASSERT_EQ(kept.held_since(), point.held_since()) << instant;
  }

  const std::shared_ptr<const NodeLayout> layout_ = std::make_shared<const NodeLayout>();
  std::vector<std::shared_ptr<PointBlock>> blocks_;
  std::vector<NodeRun> places_;
  std::vector<NodePoints> all_;
};

GpuSample BusyGpu(double utilization_percent) {
  GpuSample gpu;
  gpu.utilization_percent = utilization_percent;
  gpu.power_watts = 300;
  gpu.memory_used_bytes = 60ll << 30;
  gpu.memory_total_bytes = 80ll << 30;
  gpu.temperature_celsius = 50;
  gpu.in_use = true;
  return gpu;
}

NodePoints PointsOf(const std::vector<GpuSample>& gpus) {
  NodePoints points;
  for (const GpuSample& gpu : gpus) points.gpus.emplace_back(gpu);
  return points;
}

TEST(PointBlock, ReturnsEveryInstantAsItWasAdded) {
  std::minstd_rand random(7);
  const auto one_in = [&random](int count) { return random() % count == 0; };
  std::vector<GpuSample> gpus(3, BusyGpu(0));
  std::vector<float> shares = {0.5f, 0.5f};
  Blocks blocks;
  for (int instant = 0; instant < 3000; ++instant) {
    for (GpuSample& gpu : gpus) {
      if (one_in(2)) gpu.utilization_percent = random() % 100;
      if (one_in(150)) gpu.utilization_percent = 0.5 * (random() % 200);
      if (one_in(100)) gpu.pcie_tx_kbps = random() % 600;
      if (one_in(40)) gpu.temperature_celsius = 40 + random() % 40;
      if (one_in(200)) gpu.in_use = !gpu.in_use;
      if (one_in(200)) gpu.held_since = absl::FromUnixSeconds(instant);
      if (one_in(100)) gpu.power_watts.reset();
      if (one_in(100)) gpu.power_watts = 100 + random() % 600;
      if (one_in(200)) gpu.gaps = {{GpuField::kPcie, GpuGap::Reason::kNotRequested, ""}};
      if (one_in(200)) gpu.gaps.clear();
    }
    if (one_in(3)) shares = {0.25f, 0.75f};
    if (one_in(3)) shares = {0.5f, 0.5f};
    NodePoints points = PointsOf(gpus);
    points.shares = shares;
    ASSERT_NO_FATAL_FAILURE(blocks.Add(points));
  }
  ASSERT_NO_FATAL_FAILURE(blocks.ExpectAll());
}

TEST(PointBlock, ChangingNumberNeedsNoNewBlock) {
  Blocks blocks;
  for (int instant = 0; instant < 3200; ++instant) {
    GpuSample gpu = BusyGpu(instant % 100);
    gpu.power_watts = instant % 7;
    ASSERT_NO_FATAL_FAILURE(blocks.Add(PointsOf({gpu})));
  }
  EXPECT_LE(blocks.count(), 108u) << "32 instants each, but for the first few";
}

TEST(PointBlock, FractionsAmongWholeNumbersNeedFewMoreBlocks) {
  const auto blocks_with = [](int fraction_every) {
    Blocks blocks;
    for (int instant = 0; instant < 3200; ++instant) {
      const bool is_fraction = instant % fraction_every == fraction_every - 1;
      EXPECT_NO_FATAL_FAILURE(
          blocks.Add(PointsOf({BusyGpu(instant % 100 + (is_fraction ? 0.25 : 0))})));
    }
    EXPECT_NO_FATAL_FAILURE(blocks.ExpectAll());
    return blocks.count();
  };
  const size_t without = blocks_with(10'000);
  EXPECT_LE(blocks_with(5), without + 2) << "stored as fractions from the first one on";
  EXPECT_LE(blocks_with(1600), without + 4) << "and as whole numbers again without them";
}

TEST(PointBlock, ChangeOfAConstantIsNotAppended) {
  const auto layout = std::make_shared<const NodeLayout>();
  PointBlock block(layout, PointsOf({BusyGpu(1)}), nullptr);
  EXPECT_FALSE(block.Append(PointsOf({BusyGpu(2)})));
  PointBlock next(layout, PointsOf({BusyGpu(2)}), &block);
  GpuSample other = BusyGpu(3);
  other.temperature_celsius = 51;
  EXPECT_FALSE(next.Append(PointsOf({other}))) << "the temperature was constant so far";
  EXPECT_TRUE(next.Append(PointsOf({BusyGpu(3)}))) << "utilization has changed before";
  EXPECT_FALSE(next.Append(PointsOf({BusyGpu(4)}))) << "the block is full";
  EXPECT_EQ(next.size(), 2u);
  EXPECT_TRUE(next.NewestIs(PointsOf({BusyGpu(3)})));
  EXPECT_FALSE(next.NewestIs(PointsOf({BusyGpu(2)})));
  EXPECT_FALSE(next.NewestIs(PointsOf({other})));
}

TEST(PointBlock, ConsecutiveBlocksShareTheirConstants) {
  const auto layout = std::make_shared<const NodeLayout>();
  const PointBlock first(layout, PointsOf({BusyGpu(1)}), nullptr);
  PointBlock second(layout, PointsOf({BusyGpu(2)}), &first);
  EXPECT_NE(&second.Constants(0), &first.Constants(0)) << "only now the utilization changes";
  EXPECT_TRUE(second.Append(PointsOf({BusyGpu(3)})));
  const PointBlock third(layout, PointsOf({BusyGpu(4)}), &second);
  EXPECT_EQ(&third.Constants(0), &second.Constants(0));
  GpuSample other = BusyGpu(5);
  other.temperature_celsius = 51;
  const PointBlock fourth(layout, PointsOf({other}), &third);
  EXPECT_NE(&fourth.Constants(0), &third.Constants(0));
}

TEST(PointBlock, PointsOfDifferentBlocksAreComparedByValue) {
  const auto layout = std::make_shared<const NodeLayout>();
  const PointBlock block(layout, PointsOf({BusyGpu(1), BusyGpu(2)}), nullptr);
  const PointBlock other(layout, PointsOf({BusyGpu(2)}), &block);
  EXPECT_TRUE(GpuPointView(block, 1, 0) == GpuPointView(other, 0, 0));
  EXPECT_FALSE(GpuPointView(block, 0, 0) == GpuPointView(other, 0, 0));
  EXPECT_FALSE(GpuPointView() == GpuPointView(other, 0, 0));
  EXPECT_TRUE(GpuPointView() == GpuPointView());
}

}  // namespace
}  // namespace gpuscaler
