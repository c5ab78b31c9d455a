// Expositions of vLLM 0.32 before its first request, for tests. Omitted: HELP lines, creation
// times, metrics of Python and HTTP, and buckets of histograms that are not read.
#pragma once

#include "absl/strings/string_view.h"

namespace gpuscaler {

// One API server.
inline constexpr absl::string_view kVllmIdle = R"page(# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.79544113397e+09
# TYPE vllm:estimated_flops_per_gpu_total counter
vllm:estimated_flops_per_gpu_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:estimated_read_bytes_per_gpu_total counter
vllm:estimated_read_bytes_per_gpu_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:estimated_write_bytes_per_gpu_total counter
vllm:estimated_write_bytes_per_gpu_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="tiny"} 0.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="tiny"} 0.0
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",model_name="tiny",reason="capacity"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="tiny",reason="deferred"} 0.0
# TYPE vllm:engine_sleep_state gauge
vllm:engine_sleep_state{engine="0",model_name="tiny",sleep_state="awake"} 1.0
vllm:engine_sleep_state{engine="0",model_name="tiny",sleep_state="weights_offloaded"} 0.0
vllm:engine_sleep_state{engine="0",model_name="tiny",sleep_state="discard_all"} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} 0.0
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:external_prefix_cache_queries_total counter
vllm:external_prefix_cache_queries_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:external_prefix_cache_hits_total counter
vllm:external_prefix_cache_hits_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:mm_cache_queries_total counter
vllm:mm_cache_queries_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:mm_cache_hits_total counter
vllm:mm_cache_hits_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:prompt_tokens_by_source_total counter
vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny",source="local_compute"} 0.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny",source="local_cache_hit"} 0.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny",source="external_kv_transfer"} 0.0
# TYPE vllm:prompt_tokens_cached_total counter
vllm:prompt_tokens_cached_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:prompt_tokens_cached_by_source_total counter
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="tiny",source="device"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="tiny",source="host"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="tiny",source="p2p"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="tiny",source="disk"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="tiny",source="external_unspecified"} 0.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny"} 0.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="tiny"} 0.0
vllm:request_success_total{engine="0",finished_reason="abort",model_name="tiny"} 0.0
vllm:request_success_total{engine="0",finished_reason="error",model_name="tiny"} 0.0
vllm:request_success_total{engine="0",finished_reason="repetition",model_name="tiny"} 0.0
# TYPE vllm:admission_rejections_total counter
vllm:admission_rejections_total{model_name="tiny",reason="max_num_queued_reqs"} 0.0
vllm:admission_rejections_total{model_name="tiny",reason="max_num_queued_tokens"} 0.0
# TYPE vllm:request_prompt_tokens histogram
vllm:request_prompt_tokens_count{engine="0",model_name="tiny"} 0.0
vllm:request_prompt_tokens_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_generation_tokens histogram
vllm:request_generation_tokens_count{engine="0",model_name="tiny"} 0.0
vllm:request_generation_tokens_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_count{engine="0",model_name="tiny"} 0.0
vllm:iteration_tokens_total_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_max_num_generation_tokens histogram
vllm:request_max_num_generation_tokens_count{engine="0",model_name="tiny"} 0.0
vllm:request_max_num_generation_tokens_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_params_n histogram
vllm:request_params_n_count{engine="0",model_name="tiny"} 0.0
vllm:request_params_n_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_params_max_tokens histogram
vllm:request_params_max_tokens_count{engine="0",model_name="tiny"} 0.0
vllm:request_params_max_tokens_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.005",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.01",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.02",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.04",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.06",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.08",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.25",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.75",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="1.0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="2.5",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="5.0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="7.5",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="10.0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="20.0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="40.0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="80.0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="160.0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="640.0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="2560.0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="tiny"} 0.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.025",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.05",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.075",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.1",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.15",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.2",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.3",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.4",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.5",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.75",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="1.0",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="2.5",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="5.0",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="7.5",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="10.0",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="20.0",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="40.0",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="80.0",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="+Inf",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="tiny"} 0.0
vllm:inter_token_latency_seconds_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_time_per_output_token_seconds histogram
vllm:request_time_per_output_token_seconds_count{engine="0",model_name="tiny"} 0.0
vllm:request_time_per_output_token_seconds_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_count{engine="0",model_name="tiny"} 0.0
vllm:e2e_request_latency_seconds_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_count{engine="0",model_name="tiny"} 0.0
vllm:request_queue_time_seconds_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_inference_time_seconds histogram
vllm:request_inference_time_seconds_count{engine="0",model_name="tiny"} 0.0
vllm:request_inference_time_seconds_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_prefill_time_seconds histogram
vllm:request_prefill_time_seconds_count{engine="0",model_name="tiny"} 0.0
vllm:request_prefill_time_seconds_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_decode_time_seconds histogram
vllm:request_decode_time_seconds_count{engine="0",model_name="tiny"} 0.0
vllm:request_decode_time_seconds_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_num_preemptions histogram
vllm:request_num_preemptions_count{engine="0",model_name="tiny"} 0.0
vllm:request_num_preemptions_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:request_prefill_kv_computed_tokens histogram
vllm:request_prefill_kv_computed_tokens_count{engine="0",model_name="tiny"} 0.0
vllm:request_prefill_kv_computed_tokens_sum{engine="0",model_name="tiny"} 0.0
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{_block_size_resolved="True",block_size="128",cache_dtype="auto",cache_hit_alignment_tokens="None",effective_attention_block_size="128",enable_mamba_shared_prefix_checkpoint="False",enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.92",hash_block_size="None",is_attention_free="False",kv_cache_dtype_skip_layers="[]",kv_cache_layout="None",kv_cache_max_concurrency="64.0",kv_cache_memory_bytes="1073741824",kv_cache_size_tokens="262144",kv_offloading_backend="native",kv_offloading_size="None",kv_sharing_fast_prefill="False",mamba_block_size="None",mamba_cache_dtype="auto",mamba_cache_mode="none",mamba_page_size_padded="None",mamba_ssm_cache_dtype="float32",num_cpu_blocks="None",num_gpu_blocks="2048",num_gpu_blocks_override="None",prefix_cache_retention_interval="0",prefix_caching_hash_algo="sha256",prefix_match_unit="None",replayssm_buffer_len="16",skip_page_size_padded="None",sliding_window="None",swa_bounded_replay="True",use_kda_recoverssm="False",use_replayssm="False",user_specified_block_size="False"} 1.0
)page";

// --data-parallel-size 2, which implies two API servers, and a model name with all escaped
// characters.
inline constexpr absl::string_view kVllmIdleWithTwoApiServers =
    R"page(# TYPE vllm:request_prompt_tokens histogram
vllm:request_prompt_tokens_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_prompt_tokens_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_prompt_tokens_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_prompt_tokens_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_generation_tokens histogram
vllm:request_generation_tokens_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_generation_tokens_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_generation_tokens_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_generation_tokens_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:iteration_tokens_total_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:iteration_tokens_total_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:iteration_tokens_total_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_max_num_generation_tokens histogram
vllm:request_max_num_generation_tokens_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_max_num_generation_tokens_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_max_num_generation_tokens_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_max_num_generation_tokens_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_params_n histogram
vllm:request_params_n_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_params_n_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_params_n_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_params_n_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_params_max_tokens histogram
vllm:request_params_max_tokens_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_params_max_tokens_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_params_max_tokens_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_params_max_tokens_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.005",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.01",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.02",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.04",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.06",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.08",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.25",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.75",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="1.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="2.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="5.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="7.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="10.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="20.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="40.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="80.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="160.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="640.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="2560.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.001",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.005",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.01",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.02",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.04",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.06",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.08",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.25",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.75",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="1.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="2.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="5.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="7.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="10.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="20.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="40.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="80.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="160.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="640.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="2560.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="+Inf",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:time_to_first_token_seconds_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.025",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.05",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.075",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.15",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.2",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.3",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.4",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.75",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="1.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="2.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="5.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="7.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="10.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="20.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="40.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="80.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="+Inf",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.01",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.025",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.05",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.075",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.15",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.2",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.3",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.4",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="0.75",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="1.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="2.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="5.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="7.5",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="10.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="20.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="40.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="80.0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="+Inf",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:inter_token_latency_seconds_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_time_per_output_token_seconds histogram
vllm:request_time_per_output_token_seconds_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_time_per_output_token_seconds_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_time_per_output_token_seconds_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_time_per_output_token_seconds_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:e2e_request_latency_seconds_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:e2e_request_latency_seconds_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:e2e_request_latency_seconds_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_queue_time_seconds_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_queue_time_seconds_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_queue_time_seconds_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_inference_time_seconds histogram
vllm:request_inference_time_seconds_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_inference_time_seconds_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_inference_time_seconds_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_inference_time_seconds_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_prefill_time_seconds histogram
vllm:request_prefill_time_seconds_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_prefill_time_seconds_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_prefill_time_seconds_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_prefill_time_seconds_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_decode_time_seconds histogram
vllm:request_decode_time_seconds_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_decode_time_seconds_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_decode_time_seconds_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_decode_time_seconds_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_num_preemptions histogram
vllm:request_num_preemptions_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_num_preemptions_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_num_preemptions_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_num_preemptions_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_prefill_kv_computed_tokens histogram
vllm:request_prefill_kv_computed_tokens_sum{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_prefill_kv_computed_tokens_count{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_prefill_kv_computed_tokens_sum{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_prefill_kv_computed_tokens_count{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:num_requests_running gauge
# TYPE vllm:num_requests_waiting gauge
# TYPE vllm:num_requests_waiting_by_reason gauge
# TYPE vllm:engine_sleep_state gauge
vllm:engine_sleep_state{engine="0",model_name="we\"ird\\mo,de{l}=1 é",sleep_state="awake"} 1.0
vllm:engine_sleep_state{engine="1",model_name="we\"ird\\mo,de{l}=1 é",sleep_state="awake"} 1.0
vllm:engine_sleep_state{engine="0",model_name="we\"ird\\mo,de{l}=1 é",sleep_state="weights_offloaded"} 0.0
vllm:engine_sleep_state{engine="1",model_name="we\"ird\\mo,de{l}=1 é",sleep_state="weights_offloaded"} 0.0
vllm:engine_sleep_state{engine="0",model_name="we\"ird\\mo,de{l}=1 é",sleep_state="discard_all"} 0.0
vllm:engine_sleep_state{engine="1",model_name="we\"ird\\mo,de{l}=1 é",sleep_state="discard_all"} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{_block_size_resolved="True",block_size="128",cache_dtype="auto",cache_hit_alignment_tokens="None",effective_attention_block_size="128",enable_mamba_shared_prefix_checkpoint="False",enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.92",hash_block_size="None",is_attention_free="False",kv_cache_dtype_skip_layers="[]",kv_cache_layout="None",kv_cache_max_concurrency="64.0",kv_cache_memory_bytes="1073741824",kv_cache_size_tokens="262144",kv_offloading_backend="native",kv_offloading_size="None",kv_sharing_fast_prefill="False",mamba_block_size="None",mamba_cache_dtype="auto",mamba_cache_mode="none",mamba_page_size_padded="None",mamba_ssm_cache_dtype="float32",num_cpu_blocks="None",num_gpu_blocks="4096",num_gpu_blocks_override="None",prefix_cache_retention_interval="0",prefix_caching_hash_algo="sha256",prefix_match_unit="None",replayssm_buffer_len="16",skip_page_size_padded="None",sliding_window="None",swa_bounded_replay="True",use_kda_recoverssm="False",use_replayssm="False",user_specified_block_size="False"} 1.0
vllm:cache_config_info{_block_size_resolved="True",block_size="128",cache_dtype="auto",cache_hit_alignment_tokens="None",effective_attention_block_size="128",enable_mamba_shared_prefix_checkpoint="False",enable_prefix_caching="True",engine="1",gpu_memory_utilization="0.92",hash_block_size="None",is_attention_free="False",kv_cache_dtype_skip_layers="[]",kv_cache_layout="None",kv_cache_max_concurrency="64.0",kv_cache_memory_bytes="1073741824",kv_cache_size_tokens="262144",kv_offloading_backend="native",kv_offloading_size="None",kv_sharing_fast_prefill="False",mamba_block_size="None",mamba_cache_dtype="auto",mamba_cache_mode="none",mamba_page_size_padded="None",mamba_ssm_cache_dtype="float32",num_cpu_blocks="None",num_gpu_blocks="4096",num_gpu_blocks_override="None",prefix_cache_retention_interval="0",prefix_caching_hash_algo="sha256",prefix_match_unit="None",replayssm_buffer_len="16",skip_page_size_padded="None",sliding_window="None",swa_bounded_replay="True",use_kda_recoverssm="False",use_replayssm="False",user_specified_block_size="False"} 1.0
# TYPE vllm:estimated_flops_per_gpu_total counter
vllm:estimated_flops_per_gpu_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:estimated_flops_per_gpu_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:estimated_read_bytes_per_gpu_total counter
vllm:estimated_read_bytes_per_gpu_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:estimated_read_bytes_per_gpu_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:estimated_write_bytes_per_gpu_total counter
vllm:estimated_write_bytes_per_gpu_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:estimated_write_bytes_per_gpu_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:prefix_cache_queries_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:prefix_cache_hits_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:external_prefix_cache_queries_total counter
vllm:external_prefix_cache_queries_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:external_prefix_cache_queries_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:external_prefix_cache_hits_total counter
vllm:external_prefix_cache_hits_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:external_prefix_cache_hits_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:mm_cache_queries_total counter
vllm:mm_cache_queries_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:mm_cache_queries_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:mm_cache_hits_total counter
vllm:mm_cache_hits_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:mm_cache_hits_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:num_preemptions_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:prompt_tokens_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:prompt_tokens_by_source_total counter
vllm:prompt_tokens_by_source_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é",source="local_compute"} 0.0
vllm:prompt_tokens_by_source_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é",source="local_compute"} 0.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é",source="local_cache_hit"} 0.0
vllm:prompt_tokens_by_source_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é",source="local_cache_hit"} 0.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é",source="external_kv_transfer"} 0.0
vllm:prompt_tokens_by_source_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é",source="external_kv_transfer"} 0.0
# TYPE vllm:prompt_tokens_cached_total counter
vllm:prompt_tokens_cached_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:prompt_tokens_cached_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:prompt_tokens_cached_by_source_total counter
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é",source="device"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é",source="device"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é",source="host"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é",source="host"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é",source="p2p"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é",source="p2p"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é",source="disk"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é",source="disk"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é",source="external_unspecified"} 0.0
vllm:prompt_tokens_cached_by_source_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é",source="external_unspecified"} 0.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:generation_tokens_total{engine="1",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_success_total{engine="1",finished_reason="stop",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_success_total{engine="1",finished_reason="length",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_success_total{engine="0",finished_reason="abort",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_success_total{engine="1",finished_reason="abort",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_success_total{engine="0",finished_reason="error",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_success_total{engine="1",finished_reason="error",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_success_total{engine="0",finished_reason="repetition",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
vllm:request_success_total{engine="1",finished_reason="repetition",model_name="we\"ird\\mo,de{l}=1 é"} 0.0
# TYPE vllm:admission_rejections_total counter
vllm:admission_rejections_total{model_name="we\"ird\\mo,de{l}=1 é",reason="max_num_queued_reqs"} 0.0
vllm:admission_rejections_total{model_name="we\"ird\\mo,de{l}=1 é",reason="max_num_queued_tokens"} 0.0
)page";

}  // namespace gpuscaler
