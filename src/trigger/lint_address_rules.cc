#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "trigger/grpc_target.h"
#include "trigger/lint_rules.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

constexpr absl::string_view kUsualPort = "6000";
// The chart's port of the agents: aggregators connect to it, KEDA does not.
constexpr absl::string_view kAgentsPort = "6001";
constexpr absl::string_view kAgentsService = "-agents";

bool IsPort(absl::string_view text) {
  int port = 0;
  return absl::SimpleAtoi(text, &port) && port > 0 && port < 65536;
}

// Returns "6000" for "6000/".
absl::string_view PortWithin(absl::string_view text) {
  const absl::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  return IsPort(digits) ? digits : kUsualPort;
}

std::string PortFaultOf(const GrpcTarget& target) {
  if (!target.port.empty()) {
    return IsPort(target.port) ? "" : absl::StrCat(Quoted(target.port), " is no port");
  }
  // gRPC connects to a passthrough address as it is: no DNS lookup, no default port.
  return absl::EqualsIgnoreCase(target.scheme, "passthrough") ? "it has no port"
                                                              : "without a port that is 443";
}

std::string FaultOf(const GrpcTarget& target) {
  if (IsSocketOrMesh(target)) return "";
  if (!IsHostAndPort(target)) return absl::StrCat("\"", target.scheme, "://\" is no part of it");
  if (target.is_dns_server) {
    return absl::StrCat("the part after \"", target.scheme,
                        "://\" with two slashes is not connected to");
  }
  if (target.host.empty()) return "without a host that is KEDA's own pod";
  if (absl::StrContains(target.host, '/')) return absl::StrCat(Quoted(target.host), " is no host");
  return PortFaultOf(target);
}

// Returns the likely intended address.
std::string HostAndPort(const GrpcTarget& target) {
  absl::string_view host =
      target.host.substr(std::min(target.host.find_first_not_of('/'), target.host.size()));
  if (host.empty()) host = "HOST";
  const bool is_ipv6 = absl::StrContains(host, ':');
  return absl::StrCat(is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", ":", PortWithin(target.port));
}

std::optional<RuleViolation> NoAddress(const ScalerTrigger& scaler_trigger) {
  if (scaler_trigger.declaration->ScalerAddress() != nullptr) return std::nullopt;
  return RuleViolation{"scalerAddress is missing: KEDA refuses the trigger",
                       scaler_trigger.declaration->line};
}

std::optional<RuleViolation> NoGrpcTarget(const ScalerTrigger& scaler_trigger) {
  const LocatedText* address = scaler_trigger.declaration->ScalerAddress();
  if (address == nullptr || HasPlaceholder(address->text)) return std::nullopt;
  const GrpcTarget target = GrpcTargetIn(address->text);
  const std::string fault = FaultOf(target);
  if (fault.empty()) return std::nullopt;
  return RuleViolation{
      absl::StrCat("scalerAddress ", Quoted(address->text),
                   ": KEDA connects by gRPC to HOST:PORT (or dns:///HOST:PORT), and ", fault,
                   "; use ", Quoted(HostAndPort(target))),
      address->line};
}

std::optional<RuleViolation> AgentsAddress(const ScalerTrigger& scaler_trigger) {
  const LocatedText* address = scaler_trigger.declaration->ScalerAddress();
  if (address == nullptr) return std::nullopt;
  const GrpcTarget target = GrpcTargetIn(address->text);
  const absl::string_view service = target.host.substr(0, target.host.find('.'));
  const bool is_agents = target.port == kAgentsPort || absl::EndsWith(service, kAgentsService);
  if (!is_agents) return std::nullopt;
  return RuleViolation{
      absl::StrCat("scalerAddress ", Quoted(address->text),
                   " is the agents', which serve aggregators and not KEDA; use the "
                   "scaler's, such as keda-gpu-scaler.gpu-scaler.svc.cluster.local:",
                   kUsualPort),
      address->line};
}

constexpr std::array<TriggerRule, 3> kAddressRules = {{
    {{"no-scaler-address", kError, "KEDA needs scalerAddress to find the scaler."}, NoAddress},
    {{"scaler-address", kError,
      "scalerAddress is not HOST:PORT, which is what KEDA's gRPC connects to."},
     NoGrpcTarget},
    {{"agents-address", kWarning, "scalerAddress is the agents', which do not answer KEDA."},
     AgentsAddress},
}};

}  // namespace

std::span<const TriggerRule> AddressRules() { return kAddressRules; }

}  // namespace gpuscaler
