#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "trigger/lint_rules.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

// Returns "host:port" of "http://host:port/path".
absl::string_view PlaceIn(absl::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != absl::string_view::npos) url.remove_prefix(scheme + 3);
  return url.substr(0, url.find_first_of("/?"));
}

// Returns the host without brackets.
absl::string_view HostIn(absl::string_view url) {
  absl::string_view place = PlaceIn(url);
  if (absl::ConsumePrefix(&place, "[")) return place.substr(0, place.find(']'));
  return place.substr(0, place.find(':'));
}

absl::string_view PortIn(absl::string_view url) {
  const absl::string_view place = PlaceIn(url);
  const size_t bracket = place.find(']');
  const size_t colon = place.find(':', bracket == absl::string_view::npos ? 0 : bracket);
  if (colon != absl::string_view::npos) return place.substr(colon + 1);
  return absl::StartsWith(url, "https:") ? "443" : "80";
}

bool IsAddress(absl::string_view host) {
  return !host.empty() &&
         host.find_first_not_of("0123456789abcdefABCDEF.:") == absl::string_view::npos &&
         (host.find(':') != absl::string_view::npos ||
          host.find_first_not_of("0123456789.") == absl::string_view::npos);
}

int LineOfEndpoint(const ScalerTrigger& scaler_trigger) {
  return scaler_trigger.declaration->LineOf(
      {"engineEndpoint", "vllmEndpoint", "tritonEndpoint", "prometheusEndpoint", "gatewayUrl"});
}

bool NamesEngines(const ScalerTrigger& scaler_trigger) {
  return !scaler_trigger.parsed->engine_endpoint.url.empty();
}

// Files do not show the addresses of a host name. The running scaler warns if it is one address for
// several pods.
std::optional<RuleViolation> OneAddress(const ScalerTrigger& scaler_trigger) {
  if (!scaler_trigger.endpoint || !NamesEngines(scaler_trigger) ||
      scaler_trigger.endpoint->service != nullptr)
    return std::nullopt;
  if (!IsAddress(HostIn(scaler_trigger.endpoint->url))) return std::nullopt;
  return RuleViolation{
      absl::StrCat("the endpoint ", Quoted(scaler_trigger.endpoint->url),
                   " is one address: a pod's is another after its next start, and a "
                   "Service's ClusterIP answers for one of its replicas at random; "
                   "name a headless Service (clusterIP: None)"),
      LineOfEndpoint(scaler_trigger)};
}

// Returns text such as "3 replicas of Deployment/gateway", or "" if the files show no second
// process.
std::string ReplicasBehind(const NamedEndpoint& endpoint) {
  if (endpoint.selects_target) return "the replicas that are scaled";
  for (const ManifestWorkload* workload : endpoint.selected) {
    if (workload->replicas < 2) continue;
    return absl::StrCat(workload->replicas, " replicas of ", workload->kind, "/", workload->name);
  }
  return "";
}

std::optional<RuleViolation> ServiceBehindOneAddress(const ScalerTrigger& scaler_trigger) {
  if (!scaler_trigger.endpoint) return std::nullopt;
  const NamedEndpoint& endpoint = *scaler_trigger.endpoint;
  if (endpoint.service == nullptr || !endpoint.service->HasOneAddress()) return std::nullopt;
  const std::string text =
      absl::StrCat("the endpoint ", Quoted(endpoint.url), " is ", endpoint.service->Title(),
                   " of type ", endpoint.service->type);
  if (NamesEngines(scaler_trigger)) {
    return RuleViolation{
        absl::StrCat(text,
                     ", one address that answers for one replica at random, and each replica's "
                     "engine has to be read; name a headless Service (type ClusterIP, clusterIP: "
                     "None) with the same selector, at the container's port"),
        LineOfEndpoint(scaler_trigger)};
  }
  const std::string several = ReplicasBehind(endpoint);
  if (several.empty()) return std::nullopt;
  return RuleViolation{
      absl::StrCat(text, ", in front of ", several,
                   ": one address that answers for one of them at random; name a headless Service "
                   "(type ClusterIP, clusterIP: None): all its addresses are read and added up"),
      LineOfEndpoint(scaler_trigger)};
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

// A headless Service maps no ports: clients connect to the pods directly.
std::optional<RuleViolation> PortOfHeadless(const ScalerTrigger& scaler_trigger) {
  if (!scaler_trigger.endpoint) return std::nullopt;
  const ManifestService* const service = scaler_trigger.endpoint->service;
  if (service == nullptr || !service->IsHeadless()) return std::nullopt;
  const absl::string_view named = PortIn(scaler_trigger.endpoint->url);
  const auto port = std::ranges::find_if(service->ports, [&](const auto& listed) {
    return listed.port == named && IsNumber(listed.target_port) && listed.target_port != named;
  });
  if (port == service->ports.end()) return std::nullopt;
  return RuleViolation{absl::StrCat("the endpoint ", Quoted(scaler_trigger.endpoint->url),
                                    " has port ", named, " of ", service->Title(),
                                    ", which is headless and maps no ports: its targetPort ",
                                    port->target_port, " is what the pods listen on; use that"),
                       LineOfEndpoint(scaler_trigger)};
}

std::optional<RuleViolation> ServiceNotSeen(const Manifest&,
                                            const std::vector<ScalerTrigger>& scaler_triggers) {
  std::set<std::string> names;
  const ScalerTrigger* first = nullptr;
  for (const ScalerTrigger& scaler_trigger : scaler_triggers) {
    const bool is_unseen = scaler_trigger.endpoint && NamesEngines(scaler_trigger) &&
                           scaler_trigger.endpoint->service == nullptr &&
                           !scaler_trigger.endpoint->name.name.empty();
    if (!is_unseen) continue;
    if (first == nullptr) first = &scaler_trigger;
    names.insert(scaler_trigger.endpoint->name.Title());
  }
  if (first == nullptr) return std::nullopt;
  return RuleViolation{
      absl::StrCat("not checked: whether Service ", absl::StrJoin(names, ", "),
                   " is headless, as engines require; none of the files has it, give "
                   "lint its file as well"),
      LineOfEndpoint(*first)};
}

constexpr std::array<TriggerRule, 3> kEndpointRules = {{
    {{"one-address", kWarning, "An engine's endpoint that is one address, not a name."},
     OneAddress},
    {{"service-not-headless", kError,
      "An endpoint of several replicas, and its Service in the same files has one address for "
      "all."},
     ServiceBehindOneAddress},
    {{"headless-port", kWarning,
      "An endpoint with the port of a headless Service, which does not map it to its targetPort."},
     PortOfHeadless},
}};

constexpr std::array<ObjectRule, 1> kRelatedObjectRules = {{
    {{"service-not-seen", kNote, "The Service of an engine's endpoint is in none of the files."},
     ServiceNotSeen},
}};

}  // namespace

std::span<const TriggerRule> EndpointRules() { return kEndpointRules; }

std::span<const ObjectRule> RelatedObjectRules() { return kRelatedObjectRules; }

std::optional<NamedEndpoint> EndpointNamedBy(const Trigger& trigger, const Manifest& manifest,
                                             const RelatedObjects& related_objects) {
  const bool is_page = InfoOf(trigger.metric).origin == MetricOrigin::kMetricsEndpoint ||
                       (trigger.engine_endpoint.url.empty() && CountsHeldRequests(trigger));
  const std::string& url = is_page ? trigger.metrics_endpoint.url : trigger.engine_endpoint.url;
  if (url.empty()) return std::nullopt;
  const absl::string_view host = HostIn(url);
  NamedEndpoint endpoint{.url = url,
                         .name = ServiceNameOf(host, manifest.namespace_name),
                         .service = related_objects.ServiceAt(host, manifest.namespace_name)};
  if (endpoint.service == nullptr) return endpoint;
  endpoint.selected = related_objects.SelectedBy(*endpoint.service);
  endpoint.selects_target =
      std::ranges::any_of(endpoint.selected, [&](const ManifestWorkload* workload) {
        return !manifest.is_job && workload->kind == manifest.target_kind &&
               workload->name == manifest.target_name;
      });
  return endpoint;
}

}  // namespace gpuscaler
