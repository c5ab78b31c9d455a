#include "simulate/vllm_exposition.h"

#include <limits>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"

namespace gpuscaler {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class VllmFamilies {
 public:
  explicit VllmFamilies(const std::string& model)
      : labels_({{"engine", "0"}, {"model_name", model}}) {}

  void Gauge(const char* name, const char* help, double value) {
    ClientMetric metric;
    metric.label = labels_;
    metric.gauge.value = value;
    Add(name, help, MetricType::Gauge, {std::move(metric)});
  }

  void Counter(const char* name, const char* help, int64_t value) {
    Add(name, help, MetricType::Counter, {CounterOf(value)});
  }

  // vLLM exports a series per reason from the start. The one of aborts stays 0: requests of clients
  // that have gone are not counted (vLLM #31503).
  void Success(int64_t served) {
    std::vector<ClientMetric> metrics;
    for (const char* reason : {"stop", "length", "abort", "error"}) {
      metrics.push_back(CounterOf(reason == std::string("length") ? served : 0));
      metrics.back().label.push_back({"finished_reason", reason});
    }
    Add("vllm:request_success_total", "Count of successfully processed requests.",
        MetricType::Counter, std::move(metrics));
  }

  void Histogram(const char* name, const char* help, const BucketCounts& counts) {
    ClientMetric metric;
    metric.label = labels_;
    metric.histogram.sample_sum = counts.sum();
    metric.histogram.sample_count = static_cast<uint64_t>(counts.count());
    uint64_t cumulative = 0;
    for (size_t i = 0; i < counts.counts().size(); ++i) {
      cumulative += static_cast<uint64_t>(counts.counts()[i]);
      const bool last = i == counts.bounds().size();
      const double bound = last ? std::numeric_limits<double>::infinity() : counts.bounds()[i];
      metric.histogram.bucket.push_back({cumulative, bound});
    }
    Add(name, help, MetricType::Histogram, {std::move(metric)});
  }

  std::string Text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  ClientMetric CounterOf(int64_t value) const {
    ClientMetric metric;
    metric.label = labels_;
    metric.counter.value = static_cast<double>(value);
    return metric;
  }

  void Add(const char* name, const char* help, MetricType type, std::vector<ClientMetric> metrics) {
    MetricFamily family;
    family.name = name;
    family.help = help;
    family.type = type;
    family.metric = std::move(metrics);
    families_.push_back(std::move(family));
  }

  const std::vector<ClientMetric::Label> labels_;
  std::vector<MetricFamily> families_;
};

}  // namespace

std::string VllmExposition(const std::string& model, const EngineGauges& gauges,
                           const EngineTotals& totals) {
  VllmFamilies page(model);
  page.Gauge("vllm:num_requests_running", "Number of requests in the batch.", gauges.running);
  page.Gauge("vllm:num_requests_waiting", "Number of requests that wait for a place in the batch.",
             gauges.waiting);
  page.Gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.",
             gauges.kv_cache_usage_ratio);
  page.Counter("vllm:num_preemptions_total", "Requests that lost their place in the batch.",
               totals.preemptions);
  page.Counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.",
               totals.prompt_tokens);
  page.Counter("vllm:generation_tokens_total", "Number of generation tokens processed.",
               totals.generation_tokens);
  page.Success(totals.served);
  page.Histogram("vllm:time_to_first_token_seconds", "From a request's arrival.",
                 totals.first_token_seconds);
  page.Histogram("vllm:inter_token_latency_seconds", "From one token of a request to its next.",
                 totals.inter_token_seconds);
  page.Histogram("vllm:request_queue_time_seconds", "Until a request is first in the batch.",
                 totals.queue_seconds);
  page.Histogram("vllm:request_generation_tokens", "Tokens of each finished answer.",
                 totals.answer_tokens);
  page.Histogram("vllm:e2e_request_latency_seconds", "From a request's arrival to its last token.",
                 totals.latency_seconds);
  return page.Text();
}

}  // namespace gpuscaler
