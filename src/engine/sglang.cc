// SGLang, with --enable-metrics [sglang/srt/observability/metrics_collector.py].
//
// With priority scheduling the total is the series whose priority is empty, and others repeat it in
// parts. With metrics of all ranks each rank of tensor and pipeline parallelism repeats its group:
// of each data-parallel rank the lowest one counts (0, or with data-parallel attention the first of
// that rank's share).
//
// Each metric comes to the page with its first value (prometheus_client, several processes). 0.5.x
// has constants such as max_total_num_tokens from its start, requests and cache from the first
// batch on, or once 30 s have passed, and counters and latencies from the first request that is
// done: mostly that of the server's own warm-up, which --skip-server-warmup leaves out.
#include <map>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kSglangDone = "sglang:num_requests";

constexpr NumberRow kNumbersOfSglang[] = {
    // Without those whose grammar is compiled (num_grammar_queue_reqs).
    {.name = "sglang:num_queue_reqs", .into = &ModelReading::waiting, .zero_before = kSglangDone},
    {.name = "sglang:num_running_reqs", .into = &ModelReading::running, .zero_before = kSglangDone},
    {.name = "sglang:token_usage",
     .into = &ModelReading::kv_cache_usage_ratio,
     .adding = Adding::kFullest,
     .zero_before = kSglangDone},
    {.name = "sglang:num_requests",
     .into = &ModelReading::requests_done,
     .zero_before = kSglangDone},
    {.name = "sglang:queue_time_seconds_sum",
     .into = &ModelReading::queue_seconds,
     .zero_before = kSglangDone},
    {.name = "sglang:queue_time_seconds_count",
     .into = &ModelReading::queued_requests,
     .zero_before = kSglangDone},
    {.name = "sglang:prompt_tokens",
     .into = &ModelReading::prompt_tokens,
     .zero_before = kSglangDone},
    {.name = "sglang:generation_tokens",
     .into = &ModelReading::generation_tokens,
     .zero_before = kSglangDone},
};

constexpr HistogramRow kHistogramsOfSglang[] = {
    {.name = "sglang:time_to_first_token_seconds",
     .into = &ModelReading::first_token_seconds,
     .zero_before = kSglangDone},
    {.name = "sglang:inter_token_latency_seconds",
     .into = &ModelReading::output_token_seconds,
     .zero_before = kSglangDone},
    {.name = "sglang:time_per_output_token_seconds",  // its name before
     .into = &ModelReading::output_token_seconds,
     .choice = 1},
};

constexpr absl::string_view kMarksOfSglang[] = {"sglang:"};
constexpr absl::string_view kSeenOfEveryRank = "sglang:num_running_reqs";

using Rank = std::pair<int, int>;  // of the pipeline, of the tensors

int NumberIn(const PageSample& sample, absl::string_view label) {
  int number = 0;
  return absl::SimpleAtoi(sample.EscapedLabel(label), &number) ? number : 0;
}

Rank RankOf(const PageSample& sample) {
  return {NumberIn(sample, "pp_rank"), NumberIn(sample, "tp_rank")};
}

// Of each model and data-parallel rank.
using LowestRanks = std::map<std::pair<std::string, std::string>, Rank>;

std::pair<std::string, std::string> GroupOf(const PageSample& sample) {
  return {sample.Label("model_name"), sample.Label("dp_rank")};
}

absl::StatusOr<LowestRanks> FindLowestRanks(absl::string_view page, PageFormat format) {
  LowestRanks lowest;
  RETURN_IF_ERROR(ReadPage(
      page, format, [](absl::string_view name) { return name == kSeenOfEveryRank; },
      [&](const PageSample& sample) {
        const Rank rank = RankOf(sample);
        const auto [found, is_new] = lowest.try_emplace(GroupOf(sample), rank);
        if (!is_new && rank < found->second) found->second = rank;
      }));
  return lowest;
}

constexpr EnginePage kPageOfSglang = {.marks = kMarksOfSglang,
                                      .may_be_empty = true,
                                      .model_label = "model_name",
                                      .numbers = kNumbersOfSglang,
                                      .histograms = kHistogramsOfSglang};

absl::StatusOr<EngineReading> ReadSglang(absl::string_view page, const PageWish& wish) {
  ASSIGN_OR_RETURN(const LowestRanks lowest, FindLowestRanks(page, wish.format));
  return ReadEnginePage(kPageOfSglang, page, wish, [&](const PageSample& sample) {
    if (!sample.EscapedLabel("priority").empty()) return false;
    if (sample.EscapedLabel("tp_rank").empty()) return true;  // the tokenizer's: of no rank
    const auto found = lowest.find(GroupOf(sample));
    return RankOf(sample) == (found == lowest.end() ? Rank() : found->second);
  });
}

}  // namespace

const Engine& Sglang() {
  static constexpr Engine kEngine = {.name = "sglang",
                                     .port = 30000,
                                     .path = "/metrics",
                                     .page = &kPageOfSglang,
                                     .read = ReadSglang};
  return kEngine;
}

}  // namespace gpuscaler
