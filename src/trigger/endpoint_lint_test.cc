#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/lint.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A ScaledObject of Deployment/llm with these lines in its metadata from line 11 on.
std::string ScaledOn(const std::string& lines) {
  std::string yaml = R"(---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: llm, namespace: ai}
spec:
  scaleTargetRef: {name: llm}
  minReplicaCount: 1
  triggers:
  - type: external-push
    metadata: &metadata
      scalerAddress: keda-gpu-scaler.keda:6000
)";
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&yaml, "      ", line, "\n");
  }
  return yaml;
}

std::string Engines(const std::string& host, const std::string& key = "engineEndpoint") {
  return ScaledOn(absl::StrCat("profile: vllm-inference\n", key, ": http://", host,
                               ":8000\nmaxConcurrency: '64'\ntpotSloMs: '30'"));
}

std::string Page(const std::string& host) {
  return ScaledOn(
      absl::StrCat("metricType: prometheus\ntargetValue: '8'\nprometheusMetric: queued\n",
                   "prometheusEndpoint: http://", host, ":9090/metrics"));
}

std::string ServiceWith(const std::string& spec, const std::string& metadata = "namespace: ai",
                        const std::string& name = "llm") {
  return absl::StrCat("---\napiVersion: v1\nkind: Service\nmetadata: {name: ", name, ", ", metadata,
                      "}\nspec: {selector: {app: ", name, "}, ports: [{port: 80}]",
                      spec.empty() ? "" : ", ", spec, "}\n");
}

std::string DeploymentOf(const std::string& name, const std::string& replicas) {
  return absl::StrCat("---\nkind: Deployment\nmetadata: {name: ", name,
                      ", namespace: ai}\nspec:\n  replicas: ", replicas,
                      "\n  template: {metadata: {labels: {app: ", name, ", tier: front}}}\n");
}

std::vector<Finding> LintOf(const std::string& yaml, const RelatedObjects& beside = {}) {
  const auto file = ReadManifestFile(yaml);
  EXPECT_TRUE(file.ok()) << yaml << file.status();
  return file.ok() ? Lint(*file, BuiltInProfiles(), {.applied_with = beside})
                   : std::vector<Finding>();
}

std::vector<std::string> RulesOf(const std::string& yaml) {
  std::vector<std::string> rules;
  for (const Finding& finding : LintOf(yaml)) rules.push_back(finding.rule);
  return rules;
}

const auto kRefused = ElementsAre("service-not-headless");

TEST(EndpointLint, EnginesNeedAHeadlessService) {
  EXPECT_THAT(RulesOf(Engines("llm") + ServiceWith("clusterIP: None")), IsEmpty());
  EXPECT_THAT(RulesOf(Engines("llm") + ServiceWith("clusterIPs: [None]")), IsEmpty());
  EXPECT_THAT(RulesOf(Engines("llm") + ServiceWith("type: ExternalName, externalName: a.example")),
              IsEmpty())
      << "no file has its address";
}

TEST(EndpointLint, OneAddressBehindAClusterIpIsRefusedWithTheReasonAndTheCure) {
  const std::vector<Finding> findings = LintOf(Engines("llm") + ServiceWith(""));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "service-not-headless");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kError);
  EXPECT_EQ(findings[0].line, 13);
  EXPECT_EQ(findings[0].object, "ScaledObject ai/llm, trigger 0");
  EXPECT_THAT(findings[0].message, HasSubstr("\"http://llm:8000\" is Service ai/llm of type "
                                             "ClusterIP, one address that answers for one replica "
                                             "at random"));
  EXPECT_THAT(findings[0].message, HasSubstr("clusterIP: None"));
}

TEST(EndpointLint, EveryKindOfServiceWithOneAddressIsRefused) {
  for (const char* spec :
       {"type: ClusterIP", "clusterIP: ''", "clusterIP: 10.96.0.7", "type: NodePort",
        "type: LoadBalancer", "type: LoadBalancer, clusterIP: None"}) {
    EXPECT_THAT(RulesOf(Engines("llm") + ServiceWith(spec)), kRefused) << spec;
  }
}

TEST(EndpointLint, EachEndpointKeyIsChecked) {
  for (const char* key : {"engineEndpoint", "vllmEndpoint"}) {
    EXPECT_THAT(RulesOf(Engines("llm", key) + ServiceWith("")), kRefused) << key;
  }
  EXPECT_THAT(RulesOf(ScaledOn("profile: triton-request-rate\ntritonEndpoint: http://llm:8002") +
                      ServiceWith("")),
              kRefused);
}

TEST(EndpointLint, AServiceIsRecognizedByAllItsNames) {
  for (const char* host : {"llm.ai", "llm.ai.svc", "llm.ai.svc.cluster.local",
                           "llm.ai.svc.cluster.local.", "llm.ai.svc.corp.example"}) {
    EXPECT_THAT(RulesOf(Engines(host) + ServiceWith("")), kRefused) << host;
  }
  EXPECT_THAT(RulesOf(Engines("llm") + ServiceWith("", "labels: {}")), kRefused)
      << "kubectl apply chooses its namespace";
  EXPECT_THAT(RulesOf(Engines("10.96.0.7") + ServiceWith("clusterIP: 10.96.0.7")), kRefused);
  EXPECT_THAT(RulesOf(Engines("[fd00::7]") + ServiceWith("clusterIPs: [10.96.0.7, 'fd00::7']")),
              kRefused);
}

TEST(EndpointLint, AServiceOfAnotherNamespaceDoesNotMatch) {
  EXPECT_THAT(RulesOf(Engines("llm") + ServiceWith("", "namespace: other")),
              ElementsAre("service-not-seen"));
  EXPECT_THAT(RulesOf(Engines("llm") + ServiceWith("", "namespace: other") +
                      ServiceWith("clusterIP: None")),
              IsEmpty());
  EXPECT_THAT(
      RulesOf(Engines("llm") + ServiceWith("", "labels: {}") + ServiceWith("clusterIP: None")),
      IsEmpty())
      << "one of its own namespace comes first";
}

TEST(EndpointLint, AServiceInAnotherFileIsFound) {
  const auto beside = ReadManifestFile(ServiceWith(""));
  ASSERT_TRUE(beside.ok());
  const std::vector<Finding> findings = LintOf(Engines("llm"), beside->related_objects);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "service-not-headless");
}

TEST(EndpointLint, AMissingServiceIsNotedOnce) {
  std::string two = Engines("llm");
  absl::StrAppend(&two, "  - type: external\n    metadata: *metadata\n");
  const std::vector<Finding> findings = LintOf(two);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "service-not-seen");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kNote);
  EXPECT_THAT(findings[0].message, HasSubstr("whether Service ai/llm is headless"));
  EXPECT_THAT(RulesOf(Engines("llm-0.llm.ai.svc")), IsEmpty()) << "a pod's own name";
  EXPECT_THAT(RulesOf(Engines("engines.example.com")), IsEmpty());
  EXPECT_THAT(RulesOf(Page("gateway")), IsEmpty());
}

TEST(EndpointLint, AClusterIpIsRefusedForAPageOfSeveralReplicasOnly) {
  const std::string service = ServiceWith("", "namespace: ai", "gateway");
  EXPECT_THAT(RulesOf(Page("gateway") + service), IsEmpty());
  EXPECT_THAT(RulesOf(Page("gateway") + service + DeploymentOf("gateway", "1")), IsEmpty());
  EXPECT_THAT(RulesOf(Page("gateway") + service + DeploymentOf("other", "3")), IsEmpty());
  const std::vector<Finding> findings =
      LintOf(Page("gateway") + service + DeploymentOf("gateway", "3"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "service-not-headless");
  EXPECT_THAT(findings[0].message, HasSubstr("in front of 3 replicas of Deployment/gateway"));
  EXPECT_THAT(RulesOf(Page("gateway") + DeploymentOf("gateway", "3") +
                      ServiceWith("clusterIP: None", "namespace: ai", "gateway")),
              IsEmpty());
}

TEST(EndpointLint, AClusterIpIsRefusedForAPageOfTheScaleTarget) {
  const std::vector<Finding> findings =
      LintOf(Page("llm") + ServiceWith("") + DeploymentOf("llm", "1"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "service-not-headless");
  EXPECT_THAT(findings[0].message, HasSubstr("the replicas that are scaled"));
}

TEST(EndpointLint, AHeadlessServiceMapsNoPorts) {
  const auto service = [](const std::string& ports, const std::string& ip = "clusterIP: None") {
    return absl::StrCat("---\nkind: Service\nmetadata: {name: llm, namespace: ai}\nspec: {", ip,
                        ", ports: [", ports, "]}\n");
  };
  const std::vector<Finding> findings =
      LintOf(Engines("llm") + service("{port: 9090}, {port: 8000, targetPort: 8080}"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "headless-port");
  EXPECT_EQ(findings[0].line, 13);
  EXPECT_THAT(findings[0].message, HasSubstr("has port 8000 of Service ai/llm"));
  EXPECT_THAT(findings[0].message, HasSubstr("its targetPort 8080"));
  for (const char* ports : {"{port: 8000, targetPort: 8000}", "{port: 8000}",
                            "{port: 8000, targetPort: http}", "{port: 80, targetPort: 8000}", ""}) {
    EXPECT_THAT(RulesOf(Engines("llm") + service(ports)), IsEmpty()) << ports;
  }
  const std::string by_default = ScaledOn(
      "profile: vllm-inference\nengineEndpoint: http://llm/metrics\nmaxConcurrency: '64'\n"
      "tpotSloMs: '30'\n");
  EXPECT_THAT(RulesOf(by_default + service("{port: 80, targetPort: 8000}")),
              ElementsAre("headless-port"));
  EXPECT_THAT(RulesOf(Page("llm") + service("{port: 9090, targetPort: 8000}", "type: ClusterIP")),
              IsEmpty())
      << "one with an address does map them";
}

TEST(EndpointLint, ObjectsInAListAreFound) {
  std::string list =
      "kind: List\nitems:\n- kind: Service\n  metadata: {name: llm, namespace: ai}\n";
  absl::StrAppend(&list, "  spec: {type: NodePort}\n");
  EXPECT_THAT(RulesOf(list + Engines("llm")), kRefused);
}

}  // namespace
}  // namespace gpuscaler
