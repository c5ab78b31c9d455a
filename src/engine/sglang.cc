// SGLang, with --enable-metrics [sglang/srt/observability/metrics_collector.py].
//
// With priority scheduling the scheduler's gauges of requests have their total in the series whose
// priority is empty, and others repeat it in parts (_log_gauge_queue_count). What the tokenizer
// counts of requests that are done has no such total: each is counted with its own priority, and
// without one where it had none (TokenizerManager.collect_metrics), so all of them add up.
//
// With metrics of all ranks each rank of tensor and pipeline parallelism repeats its group:
// of each data-parallel rank the lowest one counts (0, or with data-parallel attention the first of
// that rank's share).
//
// Each metric comes to the page with its first value (prometheus_client, several processes). 0.5.x
// has constants such as max_total_num_tokens from its start, requests and cache from the first
// batch on, or once 30 s have passed, and counters and latencies from the first request that is
// done: mostly that of the server's own warm-up, which --skip-server-warmup leaves out.
//
// num_requests counts aborted requests that had begun (FINISH_ABORT comes with their last output),
// and not those that were aborted in the queue. num_aborted_requests counts both, and with several
// tokenizer workers every stream that has ended (TokenizerManager.abort_request): it is no part of
// the sum.
//
// A request is in one queue at a time. Those whose grammar is compiled come to the queue of the
// batch later. With prefill and decode apart a request waits for the other side's handshake
// (bootstrap) before its prefill, and for room in the decoder's cache (prealloc) and what the
// prefill has computed (transfer) before its decode: SGLang's own num_waiting_reqs has these three
// (get_loads). It has those retracted from the decoder's batch too, which are in no metric. In the
// prefill's inflight queue are those whose prefill is done and that are being sent: none waits.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kSglangDone = "sglang:num_requests";

constexpr absl::string_view kInBatch = "sglang:num_running_reqs";
constexpr absl::string_view kInQueue = "sglang:num_queue_reqs";
constexpr absl::string_view kInBootstrap = "sglang:num_prefill_bootstrap_queue_reqs";
// Its name before.
constexpr absl::string_view kInBootstrapBefore = "sglang:num_prefill_prealloc_queue_reqs";
constexpr absl::string_view kInPrealloc = "sglang:num_decode_prealloc_queue_reqs";
constexpr absl::string_view kInTransfer = "sglang:num_decode_transfer_queue_reqs";

// Whose total is the series without a priority.
constexpr absl::string_view kRepeatedByPriority[] = {kInBatch,           kInQueue,    kInBootstrap,
                                                     kInBootstrapBefore, kInPrealloc, kInTransfer};

constexpr NumberRow kNumbersOfSglang[] = {
    {.name = kInQueue, .into = &ModelReading::waiting, .zero_before = kSglangDone},
    {.name = "sglang:num_grammar_queue_reqs", .into = &ModelReading::waiting},
    {.name = kInBootstrap, .into = &ModelReading::waiting},
    {.name = kInBootstrapBefore, .into = &ModelReading::waiting},
    {.name = kInPrealloc, .into = &ModelReading::waiting},
    {.name = kInTransfer, .into = &ModelReading::waiting},
    {.name = kInBatch, .into = &ModelReading::running, .zero_before = kSglangDone},
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
    // With --collect-tokens-histogram; the counters count the tokens of finished requests too.
    {.name = "sglang:generation_tokens_histogram_count", .into = &ModelReading::answers},
    {.name = "sglang:num_requests",
     .into = &ModelReading::answers,
     .choice = 1,
     .zero_before = kSglangDone},
    {.name = "sglang:generation_tokens_histogram_sum", .into = &ModelReading::answer_tokens},
    {.name = "sglang:generation_tokens",
     .into = &ModelReading::answer_tokens,
     .choice = 1,
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

using Rank = std::pair<int, int>;  // of the pipeline, of the tensors

int NumberIn(const ExpositionSample& sample, absl::string_view label) {
  int number = 0;
  return absl::SimpleAtoi(sample.EscapedLabel(label), &number) ? number : 0;
}

Rank RankOf(const ExpositionSample& sample) {
  return {NumberIn(sample, "pp_rank"), NumberIn(sample, "tp_rank")};
}

bool RepeatsTotal(const ExpositionSample& sample) {
  return !sample.EscapedLabel("priority").empty() &&
         std::ranges::find(kRepeatedByPriority, sample.name) != std::end(kRepeatedByPriority);
}

// Of each model and data-parallel rank.
using LowestRanks = std::map<std::pair<std::string, std::string>, Rank>;

std::pair<std::string, std::string> GroupOf(const ExpositionSample& sample) {
  return {sample.Label("model_name"), sample.Label("dp_rank")};
}

absl::StatusOr<LowestRanks> FindLowestRanks(absl::string_view page, ExpositionFormat format) {
  LowestRanks lowest;
  RETURN_IF_ERROR(ReadPage(
      page, format, [](absl::string_view name) { return name == kInBatch; },
      [&](const ExpositionSample& sample) {
        const Rank rank = RankOf(sample);
        const auto [found, is_new] = lowest.try_emplace(GroupOf(sample), rank);
        if (!is_new && rank < found->second) found->second = rank;
      }));
  return lowest;
}

constexpr EngineExposition kPageOfSglang = {.marks = kMarksOfSglang,
                                            .may_be_empty = true,
                                            .model_label = "model_name",
                                            .numbers = kNumbersOfSglang,
                                            .histograms = kHistogramsOfSglang};

absl::StatusOr<EngineReading> ReadSglang(absl::string_view page, const ScrapeInterest& interest) {
  ASSIGN_OR_RETURN(const LowestRanks lowest, FindLowestRanks(page, interest.format));
  return ReadEngineExposition(kPageOfSglang, page, interest, [&](const ExpositionSample& sample) {
    if (RepeatsTotal(sample)) return false;
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
