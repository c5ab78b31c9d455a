#include "trigger/source_checks.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "trigger/metadata_parser.h"

namespace gpuscaler {
namespace {

class Checks {
 public:
  Checks(const Metadata& metadata, const Settings& settings, const Trigger& trigger)
      : metadata_(metadata),
        settings_(settings),
        trigger_(trigger),
        metric_(InfoOf(trigger.metric)) {}

  std::vector<Fault> Faults() && {
    CheckUse();
    CheckNeeds();
    CheckGateway();
    CheckEndpoints();
    CheckTargets();
    CheckCredentials();
    return std::move(faults_);
  }

 private:
  void Add(absl::string_view name, const std::string& rule) {
    const std::string key = SpelledIn(metadata_, name);
    faults_.push_back({key, absl::StrCat(key, ": ", rule)});
  }

  // Returns true for a key in either form, with a valid value or not.
  bool Given(absl::string_view name) const {
    return metadata_.contains(SpelledIn(metadata_, name));
  }

  void CheckUse() {
    for (const auto& [key, value] : metadata_) {
      const KeyRow* const row = FindKey(NameIn(key).name);
      if (row == nullptr || IsUsedBy(trigger_, row->use)) continue;
      faults_.push_back({key, absl::StrCat(key, ": metricType ", metric_.name, " cannot use it; ",
                                           UsersOf(row->use), " can")});
    }
  }

  absl::string_view MetricTypeKey() const {
    return Given("metricType") || trigger_.profile.empty() ? "metricType" : "profile";
  }

  void CheckNeeds() {
    struct Need {
      KeyUse by;
      absl::string_view key;
    };
    constexpr std::array<Need, 6> kNeeds = {{{KeyUse::kMetricsEndpoint, "prometheusEndpoint"},
                                             {KeyUse::kMetricsEndpoint, "prometheusMetric"},
                                             {KeyUse::kRedis, "redisAddress"},
                                             {KeyUse::kRedisStream, "redisStream"},
                                             {KeyUse::kRedisGroup, "redisConsumerGroup"},
                                             {KeyUse::kRedisList, "redisList"}}};
    for (const Need& need : kNeeds) {
      if (!IsUsedBy(trigger_, need.by) || Given(need.key)) continue;
      Add(MetricTypeKey(), absl::StrCat(metric_.name, " needs ", need.key));
    }
    const bool is_demand = trigger_.metric == MetricType::kDemandReplicas;
    if (is_demand && trigger_.demand != DemandUse::kOn) {
      Add("demand", absl::StrCat(metric_.name, " is the demand; leave the key out"));
    }
    if (trigger_.metric != MetricType::kPendingRatio || Given("maxConcurrency")) return;
    Add(MetricTypeKey(), absl::StrCat(metric_.name, " needs maxConcurrency, which it divides by"));
  }

  // Requests that a gateway holds are one series of one endpoint, and count in the demand.
  void CheckGateway() {
    if (!IsUsedBy(trigger_, KeyUse::kPressure)) return;
    const bool is_given = Given("gatewayUrl");
    if (is_given && !Given("prometheusMetric")) {
      Add("gatewayUrl", "it needs prometheusMetric, the requests that the gateway holds");
    }
    if (is_given && trigger_.demand == DemandUse::kOff) {
      Add("gatewayUrl", absl::StrCat("what it holds adds to the demand, and ",
                                     SpelledIn(metadata_, "demand"), " is off"));
    }
    for (const absl::string_view key : {"prometheusMetric", "prometheusAbsent"}) {
      if (is_given || !Given(key)) continue;
      Add(key, absl::StrCat("metricType ", metric_.name,
                            " cannot use it without gatewayUrl, the gateway that has the series"));
    }
  }

  // Only one key may name the endpoint, and it must fit the engine.
  void CheckEndpoints() {
    struct Named {
      absl::string_view key;
      absl::string_view engine;  // empty: any
    };
    const std::array<Named, 3> endpoints = {{{"engineEndpoint", metric_.engine},
                                             {"vllmEndpoint", "vllm"},
                                             {"tritonEndpoint", "triton"}}};
    const Named* first = nullptr;
    for (const Named& endpoint : endpoints) {
      if (!Given(endpoint.key)) continue;
      if (first != nullptr) {
        Add(endpoint.key, absl::StrCat(SpelledIn(metadata_, first->key),
                                       " names the endpoint already; use one of them"));
        continue;
      }
      first = &endpoint;
      const std::string engine = settings_.engine.value_or("");
      if (!engine.empty() && !endpoint.engine.empty() && engine != endpoint.engine) {
        const std::string of_engine = endpoint.key == "engineEndpoint"
                                          ? std::string(metric_.name)
                                          : SpelledIn(metadata_, endpoint.key);
        Add("engine", absl::StrCat(of_engine, " is of ", endpoint.engine, "; leave engine out"));
      }
    }
    if (first != nullptr || !Given("engine")) return;
    Add("engine",
        "it names what is at engineEndpoint, which is not given; engines that are found "
        "are recognised by their pages");
  }

  void CheckTargets() {
    if (!settings_.jobs_per_replica || !settings_.target) return;
    if (*settings_.jobs_per_replica == *settings_.target) return;
    Add("jobsPerReplica",
        absl::StrCat("it is another name of ", SpelledIn(metadata_, "targetValue"),
                     ", which has another value; use one of them"));
  }

  void CheckCredentials() {
    if (!Given("credentials")) return;
    for (const absl::string_view key :
         {"redisUsername", "redisPassword", "bearerToken", "endpointCa"}) {
      if (!Given(key)) continue;
      Add(key, absl::StrCat(SpelledIn(metadata_, "credentials"),
                            " names what opens the endpoint already; use one of them"));
    }
  }

  const Metadata& metadata_;
  const Settings& settings_;
  const Trigger& trigger_;
  const MetricTypeInfo& metric_;
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> SourceFaults(const Metadata& metadata, const Settings& settings,
                                const Trigger& trigger) {
  return Checks(metadata, settings, trigger).Faults();
}

}  // namespace gpuscaler
