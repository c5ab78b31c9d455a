#include "trigger/source_keys.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "base/host_name.h"
#include "trigger/key_readers.h"

namespace gpuscaler {
namespace {

constexpr std::array<absl::string_view, 10> kEngineNames = {
    "vllm",      "sglang", "tgi",          "triton", "nim",
    "llama_cpp", "ollama", "trtllm_serve", "tei",    "lmdeploy"};
constexpr absl::string_view kAuto = "auto";

constexpr size_t kLongestUrl = 2000;
constexpr size_t kLongestText = 500;
constexpr size_t kMaxSelectorLength = 1000;
constexpr size_t kLongestAddress = 300;  // a host name of 253, a port
constexpr size_t kLongestToken = 8 << 10;
constexpr size_t kLongestPem = 32 << 10;
// A shorter window would take a pause between two requests for a freeze.
constexpr absl::Duration kShortestFrozen = absl::Seconds(10);

constexpr double kMinSloMs = 1;
constexpr double kMaxSloMs = 600'000;

constexpr char kSloAllowed[] = "milliseconds, 1 to 600000";
constexpr char kUrlAllowed[] = "an http or https URL of up to 2000 characters";
constexpr char kTextAllowed[] = "a text of up to 500 characters";

bool ReadEngine(absl::string_view text, Settings& settings) {
  const bool is_auto = text == kAuto;
  if (!is_auto && std::ranges::find(kEngineNames, text) == kEngineNames.end()) return false;
  settings.engine = is_auto ? "" : std::string(text);
  return true;
}

template <auto kField>
bool ReadUrl(absl::string_view text, Settings& settings) {
  const bool is_url = absl::StartsWith(text, "http://") || absl::StartsWith(text, "https://");
  return is_url && ReadText<kField, kLongestUrl>(text, settings);
}

bool ReadFrozenWindow(absl::string_view text, Settings& settings) {
  const std::optional<absl::Duration> window = DurationUpTo(text, kLongestWindow);
  return window && *window >= kShortestFrozen && Assign(window, settings.trigger.frozen_window);
}

template <auto kField>
bool ReadMilliseconds(absl::string_view text, Settings& settings) {
  const std::optional<double> milliseconds = NumberIn(text, kMinSloMs, kMaxSloMs);
  if (milliseconds) settings.trigger.*kField = absl::Milliseconds(*milliseconds);
  return milliseconds.has_value();
}

bool ReadRedisTls(absl::string_view text, Settings& settings) {
  if (text != "true" && text != "false") return false;
  settings.trigger.queue.tls = text == "true";
  return true;
}

// Reads the name of a folder with a mounted Secret (CredentialFolder).
bool ReadAlias(absl::string_view text, Settings& settings) {
  if (!IsHostLabel(text)) return false;
  settings.trigger.credentials.alias = std::string(text);
  return true;
}

bool ReadPem(absl::string_view text, Settings& settings) {
  if (!IsText(text, kLongestPem, LineBreaks::kAllowed)) return false;
  if (!absl::StrContains(text, "-----BEGIN CERTIFICATE-----")) return false;
  settings.trigger.credentials.ca_pem = std::string(text);
  return true;
}

std::vector<absl::string_view> EngineWords() {
  std::vector<absl::string_view> words(kEngineNames.begin(), kEngineNames.end());
  words.push_back(kAuto);
  return words;
}

std::vector<KeyRow> EngineRows() {
  return {
      {.name = "engine",
       .allowed = JoinedWithOr(EngineWords()),
       .default_value = "auto",
       .help = "Which engine engineEndpoint leads to; auto: whichever its page is of",
       .words = EngineWords(),
       .read = ReadEngine,
       .use = KeyUse::kEngine},
      {.name = "engineEndpoint",
       .allowed = kUrlAllowed,
       .help = "Where the engines are: the name of a headless Service, of which every address is "
               "read; without it the scaler finds them in the workload's pods",
       .read = ReadUrl<&Settings::engine_endpoint>,
       .use = KeyUse::kEngine},
      {.name = "vllmEndpoint",
       .allowed = kUrlAllowed,
       .help = "engineEndpoint with engine vllm",
       .read = ReadUrl<&Settings::vllm_endpoint>,
       .use = KeyUse::kVllm},
      {.name = "tritonEndpoint",
       .allowed = kUrlAllowed,
       .help = "engineEndpoint with engine triton",
       .read = ReadUrl<&Settings::triton_endpoint>,
       .use = KeyUse::kTriton},
      {.name = "model",
       .allowed = kTextAllowed,
       .default_value = "all models of an engine together",
       .help = "The one model of an engine that counts, as its page calls it",
       .read = ReadText<&Trigger::model, kLongestText>,
       .use = KeyUse::kEngine},
      {.name = "frozenWindow",
       .allowed = "a duration with its unit, 10s to 15m, such as 90s or 5m",
       .default_value = "5m",
       .help = "An engine's requests count as none if they and its counters did not change in this "
               "time on idle GPUs: vLLM 0.9.1 to 0.10.1 keeps the last numbers after a mass "
               "abort",
       .read = ReadFrozenWindow,
       .use = KeyUse::kEngine},
  };
}

std::vector<KeyRow> CapacityRows() {
  return {
      WordRow<DemandUse, &Trigger::demand>(
          "demand", "on",
          "Requests that arrive, in replicas: on, they make the value, and pressure raises it to "
          "1.25 times that at most; observe, they are explained and exported alone; off, neither",
          KeyUse::kPressure),
      {.name = "tpotSloMs",
       .allowed = kSloAllowed,
       .help = "Milliseconds per output token that users accept: the batch of a replica is planned "
               "to stay below 90 % of it",
       .read = ReadMilliseconds<&Trigger::tpot_slo>,
       .use = KeyUse::kPressure},
      {.name = "ttftSloMs",
       .allowed = kSloAllowed,
       .help =
           "Milliseconds to the first token that users accept: if more than 5 % are later while "
           "requests wait, one replica more is requested, at most three in 10 minutes",
       .read = ReadMilliseconds<&Trigger::ttft_slo>,
       .use = KeyUse::kPressure},
      {.name = "gatewayUrl",
       .allowed = kUrlAllowed,
       .help = "The metrics endpoint of the gateway in front of the engines, at every address of "
               "its name: the requests that it holds (prometheusMetric) keep the trigger active, "
               "and their growth adds to the demand. The keys for credentials then open the "
               "gateway alone",
       .read = ReadUrl<&MetricsEndpoint::url>,
       .use = KeyUse::kPressure},
  };
}

std::vector<KeyRow> PageRows() {
  return {
      {.name = "prometheusEndpoint",
       .allowed = kUrlAllowed,
       .help = "The page of metrics itself, such as a gateway's, at every address of its name; no "
               "Prometheus server is queried",
       .read = ReadUrl<&MetricsEndpoint::url>,
       .use = KeyUse::kMetricsEndpoint},
      {.name = "prometheusMetric",
       .allowed = "a metric's name, with label matchers as in PromQL, up to 1000 characters",
       .help = "Which series of the page count: queue_size{pool=\"chat\"}; they are added up",
       .read = ReadText<&MetricsEndpoint::selector, kMaxSelectorLength>,
       .use = KeyUse::kMetricsEndpointOrGateway},
      WordRow<PrometheusKind, &Settings::prometheus_kind>(
          "prometheusKind", "gauge",
          "gauge: the series' values; rate: of counters, how much they grow a second over window "
          "(15s unless given)",
          KeyUse::kMetricsEndpoint),
      WordRow<PrometheusAbsent, &Settings::prometheus_absent>(
          "prometheusAbsent", "error",
          "What a whole page without a series of prometheusMetric means: error, as after a typing "
          "error in its name; or 0, if the series come with the first request",
          KeyUse::kMetricsEndpointOrGateway),
  };
}

std::vector<KeyRow> RedisRows() {
  return {
      {.name = "redisAddress",
       .allowed = "HOST or HOST:PORT, such as redis:6379",
       .help = "The Redis server that has the queue",
       .read = ReadText<&RedisQueue::address, kLongestAddress>,
       .use = KeyUse::kRedis},
      {.name = "redisStream",
       .allowed = kTextAllowed,
       .help = "The stream's key",
       .read = ReadText<&RedisQueue::key, kLongestText>,
       .use = KeyUse::kRedisStream},
      {.name = "redisConsumerGroup",
       .allowed = kTextAllowed,
       .help = "The consumer group of which the lag or pending entries count",
       .read = ReadText<&RedisQueue::group, kLongestText>,
       .use = KeyUse::kRedisGroup},
      {.name = "redisList",
       .allowed = kTextAllowed,
       .help = "The list's key",
       .read = ReadText<&RedisQueue::key, kLongestText>,
       .use = KeyUse::kRedisList},
      {.name = "redisDatabase",
       .allowed = "a whole number, 0 to 1000000",
       .default_value = "0",
       .help = "The database that has the key",
       .read = ReadWhole<&RedisQueue::database, 0, 1'000'000>,
       .use = KeyUse::kRedis},
      {.name = "redisTls",
       .allowed = "true or false",
       .default_value = "false",
       .help = "Connects to the server over TLS, and verifies its certificate",
       .words = {"true", "false"},
       .read = ReadRedisTls,
       .use = KeyUse::kRedis},
      {.name = "jobsPerReplica",
       .allowed = kTargetAllowed,
       .help = "Another name of targetValue, for queues",
       .read = ReadTarget<&Settings::jobs_per_replica>,
       .use = KeyUse::kQueue},
  };
}

std::vector<KeyRow> CredentialRows() {
  return {
      {.name = "credentials",
       .allowed = "up to 63 letters, digits, - or _ (no dot), and not digits alone",
       .help = "The entry in the scaler's own folder of credentials that opens the endpoint; "
               "in place of the keys below",
       .read = ReadAlias,
       .use = KeyUse::kEndpoint},
      {.name = "redisUsername",
       .allowed = kTextAllowed,
       .help = "Redis' user; without it the default one",
       .read = ReadText<&EndpointCredentials::username, kLongestText>,
       .use = KeyUse::kRedis},
      {.name = "redisPassword",
       .allowed = kTextAllowed,
       .help = "Its password: as redisPasswordFromEnv, so that no manifest has it",
       .read = ReadText<&EndpointCredentials::password, kLongestText>,
       .use = KeyUse::kRedis,
       .secret = true},
      {.name = "bearerToken",
       .allowed = "a text of up to 8 KiB, without line breaks",
       .help = "Sent to the endpoint as its bearer token: as bearerTokenFromEnv",
       .read = ReadText<&EndpointCredentials::bearer_token, kLongestToken>,
       .use = KeyUse::kHttp,
       .secret = true},
      {.name = "endpointCa",
       .allowed = "certificates as PEM, up to 32 KiB",
       .default_value = "the system's authorities",
       .help = "Authorities that sign the endpoint's certificate",
       .read = ReadPem,
       .use = KeyUse::kEndpoint,
       .secret = true},
  };
}

}  // namespace

std::span<const absl::string_view> EngineNames() { return kEngineNames; }

std::vector<KeyRow> SourceKeyRows() {
  std::vector<KeyRow> rows;
  for (const auto& more :
       {EngineRows(), CapacityRows(), PageRows(), RedisRows(), CredentialRows()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace gpuscaler
