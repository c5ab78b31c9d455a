// SGLang, with --enable-metrics [sglang/srt/observability/metrics_collector.py].
//
// Priority scheduling: the scheduler's gauges of requests have their total in the series with an
// empty priority, and repeat it split by priority (_log_gauge_queue_count). The tokenizer's
// counters of finished requests have no such total: each request is counted with its own priority,
// or without one (TokenizerManager.collect_metrics). All their series are added.
//
// Metrics of all ranks: each tensor- and pipeline-parallel rank repeats the values of its group.
// The lowest rank of each data-parallel rank counts: 0, or with data-parallel attention the first
// of its share.
//
// Each metric is exported after its first value (prometheus_client, multiprocess mode). 0.5.x
// exports constants such as max_total_num_tokens from its start. Requests and cache follow with the
// first batch, or after 30 s. Counters and latencies follow with the first finished request:
// usually the server's own warm-up, unless --skip-server-warmup is set.
//
// num_requests counts aborted requests that had started (FINISH_ABORT comes with their last
// output), but not those that were aborted in the queue. num_aborted_requests counts both, and with
// several tokenizer workers every stream that ended (TokenizerManager.abort_request). It is
// therefore not added.
//
// A request is in one queue at a time. Requests in the grammar queue join the batch's queue later.
// With disaggregated prefill, a request waits for the handshake of the other side (bootstrap)
// before prefill. Before decode it waits for room in the decoder's cache (prealloc) and for the
// prefill's result (transfer). SGLang's own num_waiting_reqs has these three (get_loads), and also
// requests retracted from the decoder's batch, which no metric has. The prefill's inflight queue
// has requests that are prefilled and being sent: none of them waits.
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

constexpr absl::string_view kInBatch = "sglang:num_running_reqs";
constexpr absl::string_view kInQueue = "sglang:num_queue_reqs";
constexpr absl::string_view kInBootstrap = "sglang:num_prefill_bootstrap_queue_reqs";
// The older name of kInBootstrap.
constexpr absl::string_view kInBootstrapBefore = "sglang:num_prefill_prealloc_queue_reqs";
constexpr absl::string_view kInPrealloc = "sglang:num_decode_prealloc_queue_reqs";
constexpr absl::string_view kInTransfer = "sglang:num_decode_transfer_queue_reqs";

// Gauges with their total in the series without a priority.
constexpr absl::string_view kRepeatedByPriority[] = {kInBatch,           kInQueue,    kInBootstrap,
                                                     kInBootstrapBefore, kInPrealloc, kInTransfer};

constexpr NumberMapping kSglangNumbers[] = {
    {.name = kInQueue, .into = &ModelReading::waiting},
    {.name = "sglang:num_grammar_queue_reqs", .into = &ModelReading::waiting},
    {.name = kInBootstrap, .into = &ModelReading::waiting},
    {.name = kInBootstrapBefore, .into = &ModelReading::waiting},
    {.name = kInPrealloc, .into = &ModelReading::waiting},
    {.name = kInTransfer, .into = &ModelReading::waiting},
    {.name = kInBatch, .into = &ModelReading::running},
    {.name = "sglang:token_usage", .into = &ModelReading::kv_cache_usage_ratio},
    {.name = "sglang:num_requests", .into = &ModelReading::requests_done},
    {.name = "sglang:queue_time_seconds_sum", .into = &ModelReading::queue_seconds},
    {.name = "sglang:queue_time_seconds_count", .into = &ModelReading::queued_requests},
    {.name = "sglang:prompt_tokens", .into = &ModelReading::prompt_tokens},
    {.name = "sglang:generation_tokens", .into = &ModelReading::generation_tokens},
    // With --collect-tokens-histogram. The counters also count the tokens of finished requests.
    {.name = "sglang:generation_tokens_histogram_count", .into = &ModelReading::answers},
    {.name = "sglang:num_requests", .into = &ModelReading::answers, .choice = 1},
    {.name = "sglang:generation_tokens_histogram_sum", .into = &ModelReading::answer_tokens},
    {.name = "sglang:generation_tokens", .into = &ModelReading::answer_tokens, .choice = 1},
};

constexpr HistogramMapping kSglangHistograms[] = {
    {.name = "sglang:time_to_first_token_seconds", .into = &ModelReading::first_token_seconds},
    {.name = "sglang:inter_token_latency_seconds", .into = &ModelReading::output_token_seconds},
    {.name = "sglang:time_per_output_token_seconds",  // older name
     .into = &ModelReading::output_token_seconds,
     .choice = 1},
};

constexpr absl::string_view kSglangMarks[] = {"sglang:"};

using Rank = std::pair<int, int>;  // pipeline rank, tensor rank

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

// Keyed by model and data-parallel rank.
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

constexpr EngineExposition kSglangExposition = {.marks = kSglangMarks,
                                                .may_be_empty = true,
                                                .zero_before = "sglang:num_requests",
                                                .model_label = "model_name",
                                                .numbers = kSglangNumbers,
                                                .histograms = kSglangHistograms};

absl::StatusOr<EngineReading> ReadSglang(absl::string_view page, const ScrapeInterest& interest) {
  ASSIGN_OR_RETURN(const LowestRanks lowest, FindLowestRanks(page, interest.format));
  return ReadEngineExposition(
      kSglangExposition, page, interest, [&](const ExpositionSample& sample) {
        if (RepeatsTotal(sample)) return false;
        if (sample.EscapedLabel("tp_rank").empty()) return true;  // from the tokenizer
        const auto found = lowest.find(GroupOf(sample));
        return RankOf(sample) == (found == lowest.end() ? Rank() : found->second);
      });
}

}  // namespace

const Engine& Sglang() {
  static constexpr Engine kEngine = {.name = "sglang",
                                     .port = 30000,
                                     .path = "/metrics",
                                     .exposition = &kSglangExposition,
                                     .read = ReadSglang};
  return kEngine;
}

}  // namespace gpuscaler
