#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "scaling/lint_rules.h"
#include "scaling/trigger_source.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

std::optional<Complaint> StreamLength(const OurTrigger& our) {
  if (our.settings->metric != MetricType::kRedisStreamLength) return std::nullopt;
  return Complaint{
      "redis_stream_length counts entries that were read and acknowledged too, until the stream is "
      "trimmed: with a consumer group it does not fall as work is done; use redis_stream_lag, and "
      "redis_stream_pending in a second trigger for what is being worked on",
      our.written->LineOf({"metricType"})};
}

std::optional<Complaint> SecretInMetadata(const OurTrigger& our) {
  for (const auto& [key, value] : our.written->metadata) {
    const KeyRow* const row = FindKey(key);
    if (row == nullptr || !row->secret || key == "endpointCa") continue;
    return Complaint{absl::StrCat(key,
                                  " is readable for all who may read the ScaledObject; put it "
                                  "into a Secret, from there into the environment of the "
                                  "workload's container, and say ",
                                  key, "FromEnv"),
                     value.line};
  }
  return std::nullopt;
}

std::optional<Complaint> ValueOfATotal(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  if (IsOfReplicas(InfoOf(trigger.metric).origin)) return std::nullopt;
  if (trigger.target_type != TargetType::kValue) return std::nullopt;
  return Complaint{
      absl::StrCat("targetType Value of ", InfoOf(trigger.metric).name,
                   ": the HPA multiplies it by the replicas there are, and a queue "
                   "that stays as it is doubles them again and again; use AverageValue"),
      our.written->LineOf({"targetType"})};
}

std::optional<Complaint> RateWithoutWindow(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  const bool from_counters = InfoOf(trigger.metric).origin != MetricOrigin::kGpu &&
                             SmoothingOf(trigger) == absl::ZeroDuration() &&
                             (InfoOf(trigger.metric).over_window || trigger.page.rate);
  if (!from_counters || trigger.window > absl::ZeroDuration()) return std::nullopt;
  return Complaint{absl::StrCat("window 0s of ", InfoOf(trigger.metric).name,
                                ", which comes from counters: it is taken between the newest two "
                                "readings alone, and swings; use 15s"),
                   our.written->LineOf({"window"})};
}

bool IsAddress(absl::string_view host) {
  return !host.empty() &&
         (host.front() == '[' || host.find_first_not_of("0123456789.") == absl::string_view::npos);
}

// Of "http://host:port/path".
absl::string_view HostIn(absl::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != absl::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('/'));
  return url.substr(0, !url.empty() && url.front() == '[' ? url.find(']') : url.find(':'));
}

// What a name leads to no file shows: the running scaler says when it is one address for several
// pods.
std::optional<Complaint> OneAddress(const OurTrigger& our) {
  const std::string& url = our.settings->engine_endpoint.url;
  if (!IsAddress(HostIn(url))) return std::nullopt;
  return Complaint{absl::StrCat("the endpoint ", Quoted(url),
                                " is one address: a pod's is another after its next start, and a "
                                "Service's ClusterIP answers for one of its replicas at random; "
                                "name a headless Service (clusterIP: None)"),
                   our.written->LineOf({"engineEndpoint", "vllmEndpoint", "tritonEndpoint"})};
}

constexpr std::array<TriggerRule, 5> kDemandRules = {{
    {{"stream-length", kWarning, "A stream's length does not fall when a consumer group reads it."},
     StreamLength},
    {{"secret-in-metadata", kWarning, "A password or token that every reader of the manifest has."},
     SecretInMetadata},
    {{"value-of-a-total", kWarning,
      "targetType Value of a queue or a gateway: it has no replicas to be an average over."},
     ValueOfATotal},
    {{"rate-without-window", kWarning, "A rate or a wait over no time at all."}, RateWithoutWindow},
    {{"one-address", kWarning, "An engine's endpoint that is one address, not a name."},
     OneAddress},
}};

}  // namespace

std::span<const TriggerRule> DemandRules() { return kDemandRules; }

}  // namespace gpuscaler
