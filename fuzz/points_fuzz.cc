// The codecs of the histories: they must return the points that were appended.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "fuzz_assert.h"
#include "model/node_history.h"
#include "model/point_block.h"
#include "web/point_log.h"
#include "web/test_points.h"

namespace gpuscaler {
namespace {

struct LogColumn {
  std::optional<double> HistoryPoint::*number;
  double unit;  // the number is rounded to it
};
constexpr LogColumn kLogColumns[] = {
    {&HistoryPoint::value, 1e-3},  {&HistoryPoint::target, 1e-3},  {&HistoryPoint::replicas, 1},
    {&HistoryPoint::starting, 1},  {&HistoryPoint::unreadable, 1}, {&HistoryPoint::terminating, 1},
    {&HistoryPoint::active, 1},    {&HistoryPoint::limit, 1e-3},   {&HistoryPoint::capacity, 1e-3},
    {&HistoryPoint::demand, 1e-3}, {&HistoryPoint::replaced, 1},   {&HistoryPoint::gpus, 1}};

std::optional<double> AnyNumber(FuzzedDataProvider& input) {
  switch (input.ConsumeIntegralInRange(0, 4)) {
    case 0:
      return std::nullopt;
    case 1:
      return input.ConsumeIntegral<int32_t>() / 1000.0;
    case 2:
      return std::bit_cast<double>(input.ConsumeIntegral<uint64_t>());
    default:
      return input.ConsumeIntegralInRange(0, 300);
  }
}

bool IsRounded(std::optional<double> read, std::optional<double> number, double unit) {
  if (!number.has_value() || std::isnan(*number)) return !read.has_value();
  const double wanted = std::clamp(*number, -1e18 * unit, 1e18 * unit);
  return read.has_value() && std::abs(*read - wanted) <= 0.5001 * unit + std::abs(wanted) * 1e-12;
}

bool IsRounded(const HistoryPoint& read, const HistoryPoint& point) {
  return read.at == point.at && read.code == point.code &&
         std::ranges::all_of(kLogColumns, [&](const LogColumn& column) {
           return IsRounded(read.*column.number, point.*column.number, column.unit);
         });
}

void CheckLog(FuzzedDataProvider& input) {
  constexpr size_t kMaxSteps = 600;
  PointLog log;
  std::vector<HistoryPoint> wanted;  // one for each step
  const auto next_step = [&wanted] { return static_cast<int>(wanted.size()); };
  HistoryPoint point;
  while (input.remaining_bytes() > 0 && wanted.size() < kMaxSteps) {
    const int missing = input.ConsumeBool() ? 0 : input.ConsumeIntegralInRange(0, 255);
    for (int i = 0; i < missing; ++i) wanted.push_back(NoRecordAt(next_step()));
    for (int changed = input.ConsumeIntegralInRange(0, 3); changed > 0; --changed) {
      point.*input.PickValueInArray(kLogColumns).number = AnyNumber(input);
    }
    point.code = static_cast<absl::StatusCode>(input.ConsumeIntegralInRange(0, 16));
    for (int run = input.ConsumeIntegralInRange(1, 255); run > 0; --run) {
      point.at = StepTime(next_step());
      wanted.push_back(point);
      log.Append(point);
    }
    FUZZ_ASSERT(log.last_at() == wanted.back().at && log.first_at() <= log.last_at());
  }
  const int last = next_step() - 1;
  const auto read = log.Read(StepTime(0), StepTime(last));
  FUZZ_ASSERT(std::ranges::equal(read, wanted,
                                 [](const auto& a, const auto& b) { return IsRounded(a, b); }));
  if (log.empty()) return;
  const int cut = input.ConsumeIntegralInRange(0, last + 1);
  const auto rest = log.Read(StepTime(cut), StepTime(last));
  FUZZ_ASSERT(std::equal(rest.begin(), rest.end(), read.begin() + cut, read.end()));
  log.DropBefore(StepTime(cut));
  FUZZ_ASSERT(log.empty() == (cut > last));
  FUZZ_ASSERT(log.Read(StepTime(cut), StepTime(last)) == rest);
}

struct NodeSample {
  GpuSample gpu;  // the second one, beside one without readings
  std::vector<float> shares;
};

void CheckInstant(const PointBlock& block, size_t instant, const NodePoints& wanted) {
  FUZZ_ASSERT(block.gpus() == wanted.gpus.size());
  for (size_t gpu = 0; gpu < wanted.gpus.size(); ++gpu) {
    FUZZ_ASSERT(block.Constants(gpu).EqualsExceptNumbers(wanted.gpus[gpu]));
    for (size_t i = 0; i < kGpuReadings; ++i) {
      const auto reading = static_cast<GpuReading>(i);
      FUZZ_ASSERT(block.Value(gpu, reading, instant) == wanted.gpus[gpu].Value(reading));
    }
  }
  FUZZ_ASSERT(block.has_shares() == !wanted.shares.empty());
  for (size_t i = 0; i < wanted.shares.size(); ++i) {
    FUZZ_ASSERT(block.Share(i, instant) == wanted.shares[i]);
  }
}

// Changes `number`, one of the GPU, or something else.
void Change(FuzzedDataProvider& input, NodeSample& node, std::optional<double>& number) {
  switch (input.ConsumeIntegralInRange(0, 5)) {
    case 0:
      return number.reset();
    case 1:
      node.gpu.in_use = !node.gpu.in_use;
      return;
    case 2:
      node.gpu.gaps = {{GpuField::kPcie, GpuGap::Reason::kNotRequested, ""}};
      return;
    case 3:
      node.shares.resize(input.ConsumeIntegralInRange<size_t>(0, 2), 0.5f);
      return;
    default:
      number = input.ConsumeIntegralInRange(0, 1200) / 4.0;
  }
}

// Appends to blocks as NodeHistory does. Each step changes a number, often several times in a row.
void CheckBlocks(FuzzedDataProvider& input) {
  constexpr std::optional<double> GpuSample::*kNumbers[] = {
      &GpuSample::utilization_percent, &GpuSample::power_watts, &GpuSample::pcie_tx_kbps};
  constexpr double kDeltas[] = {0, 1, -1, 0.5};
  constexpr size_t kMaxInstants = 300;
  const auto layout = std::make_shared<const NodeLayout>();
  std::vector<std::unique_ptr<PointBlock>> blocks;
  std::vector<NodePoints> wanted;
  NodeSample node;
  while (input.remaining_bytes() > 0 && wanted.size() < kMaxInstants) {
    std::optional<double>& number = node.gpu.*input.PickValueInArray(kNumbers);
    const double delta = input.PickValueInArray(kDeltas);
    Change(input, node, number);
    for (int repeats = input.ConsumeIntegralInRange(1, 40); repeats > 0; --repeats) {
      if (number.has_value()) *number += delta;
      wanted.push_back(
          {.gpus = {GpuPoint(GpuSample()), GpuPoint(node.gpu)}, .shares = node.shares});
      const PointBlock* const before = blocks.empty() ? nullptr : blocks.back().get();
      if (blocks.empty() || !blocks.back()->Append(wanted.back())) {
        blocks.push_back(std::make_unique<PointBlock>(layout, wanted.back(), before));
      }
      FUZZ_ASSERT(blocks.back()->NewestIs(wanted.back()));
    }
  }
  size_t next = 0;
  for (const auto& block : blocks) {
    for (size_t i = 0; i < block->size(); ++i) CheckInstant(*block, i, wanted[next++]);
  }
  FUZZ_ASSERT(next == wanted.size());
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  const bool is_log = input.ConsumeBool();
  is_log ? gpuscaler::CheckLog(input) : gpuscaler::CheckBlocks(input);
  return 0;
}
