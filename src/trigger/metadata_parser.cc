#include "trigger/metadata_parser.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/nearest.h"
#include "base/number_text.h"
#include "trigger/profile.h"
#include "trigger/source_checks.h"

namespace gpuscaler {
namespace {

// The server cuts a status text at 2000 bytes (wire/server_stream.cc). A list of faults ends before
// that, with the number of those left out.
constexpr size_t kLongestMessageBytes = 1900;

constexpr size_t kProfilesNamed = 30;
constexpr size_t kNearestNamed = 5;

constexpr std::array<absl::string_view, 7> kKedaKeys = {
    "scalerAddress", "tlsCertFile", "caCert",   "tlsClientCert",
    "tlsClientKey",  "unsafeSsl",   "enableTLS"};

// The window of rates, equal to that of engines. A rate of counters needs one.
constexpr absl::Duration kDefaultRateWindow = absl::Seconds(15);

// A metric type can use only one of these (source_checks.h).
constexpr std::array<absl::string_view, 5> kEndpointKeys = {
    "engineEndpoint", "vllmEndpoint", "tritonEndpoint", "prometheusEndpoint", "redisAddress"};

struct Entry {
  absl::string_view key;   // as the metadata spells it
  absl::string_view name;  // without FromEnv
  absl::string_view value;
  bool from_env;
};

Entry EntryOf(absl::string_view key, absl::string_view value) {
  const KeyName spelled = NameIn(key);
  return {key, spelled.name, value, spelled.from_env};
}

// Shows neither the value nor a suggestion if the key is secret, or a FromEnv key, which may have a
// secret value.
Fault FaultIn(const Entry& entry, const std::string& rule, const std::string& did_you_mean) {
  const KeyRow* const row = FindKey(entry.name);
  const bool secret = entry.from_env || (row != nullptr && row->secret);
  if (secret) return {std::string(entry.key), absl::StrCat(entry.key, ": ", rule)};
  return {std::string(entry.key),
          absl::StrCat(entry.key, "=", Quoted(entry.value), ": ", rule, did_you_mean)};
}

// Returns true if the value may be a secret, even that of a misspelt key.
bool MayBeSecret(const Entry& entry, absl::string_view nearest) {
  const KeyRow* const row = FindKey(nearest);
  const std::string lower = absl::AsciiStrToLower(entry.name);
  const auto has = [&lower](absl::string_view word) { return absl::StrContains(lower, word); };
  return entry.from_env || (row != nullptr && row->secret) || has("pass") || has("token") ||
         has("secret") || has("key") || has("cred");
}

std::string Shown(absl::string_view key) {
  return std::string(absl::StripSuffix(absl::StripPrefix(Quoted(key), "\""), "\""));
}

Fault UnknownKey(const Entry& entry) {
  std::vector<absl::string_view> known;
  for (const KeyRow& row : KeyRows()) known.push_back(row.name);
  const std::string all = absl::StrJoin(known, ", ");
  known.insert(known.end(), kKedaKeys.begin(), kKedaKeys.end());
  const absl::string_view nearest = Nearest(entry.name, known);
  const std::string advice = nearest.empty() ? absl::StrCat("; use ", all)
                                             : absl::StrCat("; did you mean \"", nearest,
                                                            entry.from_env ? "FromEnv" : "", "\"?");
  const std::string value =
      MayBeSecret(entry, nearest) ? "" : absl::StrCat("=", Quoted(entry.value));
  return {std::string(entry.key), absl::StrCat(Shown(entry.key), value, ": no such key", advice)};
}

// Returns all names, or the nearest ones of many.
std::string ProfilesText(absl::string_view requested, const std::vector<absl::string_view>& names) {
  if (names.size() <= kProfilesNamed) return JoinedWithOr(names);
  const std::string others = CountText(static_cast<int64_t>(names.size() - kNearestNamed), "other");
  std::vector<absl::string_view> named = NearestFew(requested, names, kNearestNamed);
  const std::string others_text = absl::StrCat("one of ", others);
  named.push_back(others_text);
  return JoinedWithOr(named);
}

// Returns the trigger that all keys but `profile` override.
Trigger StartOf(const Metadata& metadata, const Profiles& profiles) {
  const auto named = metadata.find(SpelledIn(metadata, "profile"));
  if (named == metadata.end()) return {};
  const auto found = profiles.find(named->second);
  if (found == profiles.end()) return {};
  Trigger trigger = found->second.trigger;
  trigger.metric_name = MetricNameOf(trigger.profile);
  return trigger;
}

Fault UnknownProfile(const Entry& entry, const Profiles& profiles) {
  std::vector<absl::string_view> names;
  for (const auto& [name, profile] : profiles) names.push_back(name);
  return FaultIn(entry, absl::StrCat("use ", ProfilesText(entry.value, names)),
                 DidYouMean(entry.value, names));
}

void ParseEntry(const Entry& entry, const Profiles& profiles, ParsedMetadata& parsed) {
  if (std::ranges::find(kKedaKeys, entry.name) != kKedaKeys.end()) return;
  const KeyRow* const row = FindKey(entry.name);
  if (row == nullptr) {
    // Only the first ten faults get advice, because the search takes time.
    constexpr size_t kMostWithAdvice = 10;
    parsed.faults.push_back(
        parsed.faults.size() < kMostWithAdvice
            ? UnknownKey(entry)
            : Fault{std::string(entry.key), absl::StrCat(Shown(entry.key), ": no such key")});
  } else if (!row->read(entry.value, parsed.settings)) {
    const std::string fault = row->fault == nullptr ? "" : row->fault(entry.value);
    const std::string details = absl::StrCat(fault.empty() ? "" : ": ", fault);
    parsed.faults.push_back(FaultIn(entry, absl::StrCat("use ", row->allowed),
                                    absl::StrCat(details, DidYouMean(entry.value, row->words))));
  } else if (entry.name == "profile" && !profiles.contains(entry.value)) {
    parsed.faults.push_back(UnknownProfile(entry, profiles));
  }
}

// targetGpuUtilization and targetMemoryUtilization each set a metric and its target.
struct Shorthand {
  absl::string_view key;
  MetricType metric;
  std::optional<double> Settings::*target;
};
constexpr std::array<Shorthand, 2> kShorthands = {{
    {"targetGpuUtilization", MetricType::kGpuUtilization, &Settings::target_gpu_utilization},
    {"targetMemoryUtilization", MetricType::kMemoryUsedPercent,
     &Settings::target_memory_utilization},
}};

// Returns a fault for a profile on engines or a queue, because a shorthand can replace the metric
// of a GPU profile only.
Fault ShorthandFault(const Metadata& metadata, const Shorthand& shorthand,
                     const MetricTypeInfo& of_profile) {
  const std::string key = SpelledIn(metadata, shorthand.key);
  return {key, absl::StrCat(key, ": it is the target of ", InfoOf(shorthand.metric).name, ", but ",
                            SpelledIn(metadata, "profile"), " is on ", of_profile.name,
                            "; use targetValue for that, or leave the profile out")};
}

void CheckShorthands(const Metadata& metadata, ParsedMetadata& parsed) {
  const Settings& settings = parsed.settings;
  const bool both = settings.target_gpu_utilization && settings.target_memory_utilization;
  const bool wrong_metric_type = !settings.metric && parsed.HasFaultIn("metricType");
  if (wrong_metric_type) return;
  if (both && !settings.metric) {
    const std::string key = SpelledIn(metadata, kShorthands[0].key);
    parsed.faults.push_back(
        {key, absl::StrCat(key, " and ", SpelledIn(metadata, kShorthands[1].key),
                           ": each names a metric of its own; set metricType "
                           "to gpu_utilization or memory_used_percent")});
    return;
  }
  const MetricTypeInfo& of_profile = InfoOf(settings.trigger.metric);
  for (const Shorthand& shorthand : kShorthands) {
    if (!(settings.*shorthand.target)) continue;
    if (!settings.metric && of_profile.origin != MetricOrigin::kGpu) {
      parsed.faults.push_back(ShorthandFault(metadata, shorthand, of_profile));
    }
    if (!settings.metric) continue;
    const bool both_targets_are_allowed =
        both && (*settings.metric == MetricType::kGpuUtilization ||
                 *settings.metric == MetricType::kMemoryUsedPercent);
    if (*settings.metric == shorthand.metric || both_targets_are_allowed) continue;
    const std::string key = SpelledIn(metadata, shorthand.key);
    parsed.faults.push_back(
        {key, absl::StrCat(key, ": it is the target of ", InfoOf(shorthand.metric).name, ", but ",
                           SpelledIn(metadata, "metricType"),
                           " names another metric; use targetValue")});
  }
}

// Only one key may select the pods that count, and only in the scope of a workload.
void CheckPodSelectors(const Metadata& metadata, ParsedMetadata& parsed) {
  const Trigger& trigger = parsed.settings.trigger;
  const bool any_owner = trigger.scope != Scope::kWorkload;
  if (!trigger.workload.empty() && trigger.pod_regex != nullptr) {
    const std::string key = SpelledIn(metadata, "podRegex");
    parsed.faults.push_back(
        {key, absl::StrCat(key, " and ", SpelledIn(metadata, "workload"),
                           ": each names the pods that count; use one of them")});
  }
  for (const absl::string_view name : {"workload", "podRegex"}) {
    const bool given =
        name == "workload" ? !trigger.workload.empty() : trigger.pod_regex != nullptr;
    if (!given || !any_owner) continue;
    const std::string key = SpelledIn(metadata, name);
    parsed.faults.push_back(
        {key, absl::StrCat(key, ": ", SpelledIn(metadata, "scope"), " ", Name(trigger.scope),
                           " counts all GPUs in use; use scope workload")});
  }
}

// Returns the metric that the keys name, directly or by a shorthand. Empty: it is the profile's.
std::optional<MetricType> ExplicitMetric(const Settings& settings) {
  if (settings.metric) return settings.metric;
  for (const Shorthand& shorthand : kShorthands) {
    if (settings.*shorthand.target) return shorthand.metric;
  }
  return std::nullopt;
}

std::optional<double> ExplicitTarget(const Settings& settings) {
  if (settings.target) return settings.target;
  if (settings.jobs_per_replica) return settings.jobs_per_replica;
  const std::optional<MetricType> metric = ExplicitMetric(settings);
  for (const Shorthand& shorthand : kShorthands) {
    if (metric == shorthand.metric && settings.*shorthand.target) return settings.*shorthand.target;
  }
  return std::nullopt;
}

void SetDefaultWindows(MetricOrigin origin, Trigger& trigger) {
  trigger.window = trigger.activation_window = trigger.warmup = absl::ZeroDuration();
  if (!IsOfReplicas(origin)) return;
  trigger.window = absl::Seconds(origin == MetricOrigin::kEngine ? 15 : 30);
  trigger.activation_window = absl::Seconds(60);
  // The warm-up of engines that are not read. Engines load for minutes: if each counted the target
  // meanwhile, ever more replicas would be added.
  if (origin == MetricOrigin::kEngine) trigger.warmup = absl::Seconds(300);
}

EngineEndpoint EndpointIn(const Settings& settings, const MetricTypeInfo& metric) {
  if (settings.vllm_endpoint) return {.url = *settings.vllm_endpoint, .engine = "vllm"};
  if (settings.triton_endpoint) return {.url = *settings.triton_endpoint, .engine = "triton"};
  if (!settings.engine_endpoint) return {};
  const std::string engine = settings.engine.value_or("");
  return {.url = *settings.engine_endpoint,
          .engine = engine.empty() ? std::string(metric.engine) : engine};
}

// Returns the key as the metadata spells it, or "" if it is not given.
std::string WrittenKey(const Metadata& metadata, absl::string_view name) {
  std::string key = SpelledIn(metadata, name);
  return metadata.contains(key) ? key : "";
}

std::string EndpointKeyIn(const Metadata& metadata) {
  for (const absl::string_view name : kEndpointKeys) {
    std::string key = WrittenKey(metadata, name);
    if (!key.empty()) return key;
  }
  return "";
}

}  // namespace

std::span<const absl::string_view> KedaKeys() { return kKedaKeys; }

bool ParsedMetadata::HasFaultIn(absl::string_view key) const {
  return std::ranges::any_of(faults,
                             [&](const Fault& fault) { return NameIn(fault.key).name == key; });
}

ParsedMetadata ParseMetadata(const Metadata& metadata, const Profiles& profiles) {
  ParsedMetadata parsed;
  parsed.settings.trigger = StartOf(metadata, profiles);
  for (const auto& [key, value] : metadata) {
    const Entry entry = EntryOf(key, value);
    if (entry.from_env && metadata.contains(entry.name)) continue;  // the plain key wins
    ParseEntry(entry, profiles, parsed);
  }
  Trigger& trigger = parsed.settings.trigger;
  trigger.endpoint_key = EndpointKeyIn(metadata);
  trigger.gateway_key = WrittenKey(metadata, "gatewayUrl");
  trigger.selector_key = WrittenKey(metadata, "prometheusMetric");
  CheckShorthands(metadata, parsed);
  CheckPodSelectors(metadata, parsed);
  const bool metric_is_known = !parsed.HasFaultIn("profile") && !parsed.HasFaultIn("metricType");
  if (metric_is_known) {
    std::ranges::move(SourceFaults(metadata, parsed.settings, TriggerOf(parsed.settings)),
                      std::back_inserter(parsed.faults));
  }
  return parsed;
}

Trigger TriggerOf(const Settings& settings) {
  Trigger trigger = settings.trigger;
  trigger.metric = ExplicitMetric(settings).value_or(trigger.metric);
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  // A target of a profile on another metric is not one in replicas.
  const bool becomes_demand = trigger.metric == MetricType::kDemandReplicas &&
                              settings.trigger.metric != MetricType::kDemandReplicas;
  trigger.target = ExplicitTarget(settings).value_or(becomes_demand ? 1 : trigger.target);
  trigger.aggregation =
      settings.aggregation.value_or(metric.extensive ? Aggregation::kSum : Aggregation::kMax);

  // A profile's windows are for its own metric, or one of the same origin.
  if (metric.origin != InfoOf(settings.trigger.metric).origin) {
    SetDefaultWindows(metric.origin, trigger);
  }
  const bool is_rate = settings.prometheus_kind == PrometheusKind::kRate;
  if (metric.origin == MetricOrigin::kMetricsEndpoint && is_rate) {
    trigger.window = kDefaultRateWindow;
  }
  trigger.window = settings.window.value_or(trigger.window);
  trigger.activation_window = settings.activation_window.value_or(trigger.activation_window);
  trigger.warmup = settings.warmup.value_or(trigger.warmup);

  // A shorthand for the profile's own metric overrides only its target.
  if (settings.metric || trigger.metric != settings.trigger.metric) {
    trigger.preallocated_memory = PreallocatedMemory::kLiteral;
  }
  trigger.always_active = trigger.scale_in == ScaleIn::kHold && !trigger.activation_threshold_given;

  trigger.engine_endpoint = EndpointIn(settings, metric);
  trigger.metrics_endpoint.rate = is_rate;
  trigger.metrics_endpoint.zero_if_absent = settings.prometheus_absent == PrometheusAbsent::kZero;
  trigger.queue.length = metric.length;
  return trigger;
}

absl::Status StatusOf(const std::vector<Fault>& faults) {
  if (faults.empty()) return absl::OkStatus();
  const std::string& first = faults.front().message;
  const bool is_cut = first.size() > kLongestMessageBytes;
  std::string message = absl::StrCat(first.substr(0, kLongestMessageBytes), is_cut ? "..." : "");
  for (size_t i = 1; i < faults.size(); ++i) {
    if (message.size() + 2 + faults[i].message.size() > kLongestMessageBytes) {
      absl::StrAppend(&message, "; and ", faults.size() - i, " more");
      break;
    }
    absl::StrAppend(&message, "; ", faults[i].message);
  }
  return absl::InvalidArgumentError(message);
}

}  // namespace gpuscaler
