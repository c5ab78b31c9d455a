// Rules on scalerAddress, and how a trigger of this scaler is recognized by it.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_linted_manifest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AddressLint, ScalerAddressIsWhatGrpcConnectsTo) {
  const auto first = [](const std::string& address) {
    std::string yaml = WithMetadata("");
    yaml.replace(yaml.find("keda-gpu-scaler.keda:6000"), 25, "'" + address + "'");
    const std::vector<Finding> findings = FindingsIn(yaml);
    return findings.empty() ? Finding() : findings[0];
  };
  struct Row {
    const char* address;
    const char* want;
  };
  for (const Row& row : std::vector<Row>{
           {"http://gpu-scaler.keda:6000", "use \"gpu-scaler.keda:6000\""},
           {"https://gpu-scaler.keda:6000/", "use \"gpu-scaler.keda:6000\""},
           {"grpc://gpu-scaler.keda", "use \"gpu-scaler.keda:6000\""},
           {"gpu-scaler.keda", "without a port that is 443; use \"gpu-scaler.keda:6000\""},
           {"dns:///gpu-scaler.keda", "without a port that is 443"},
           {"gpu-scaler.keda:6000/", "is no port; use \"gpu-scaler.keda:6000\""},
           {"gpu-scaler.keda:66000", "\"66000\" is no port"},
           {"dns://gpu-scaler.keda:6000",
            "with two slashes is not connected to; use \"gpu-scaler.keda:6000\""},
           {"dns:////gpu-scaler.keda:6000",
            "\"/gpu-scaler.keda\" is no host; use \"gpu-scaler.keda:6000\""},
           {"passthrough:///gpu-scaler.keda", "it has no port; use \"gpu-scaler.keda:6000\""},
           {"passthrough://gpu-scaler.keda:6000", "with two slashes is not connected to"},
           {"dns:gpu-scaler.keda", "without a port that is 443; use \"gpu-scaler.keda:6000\""},
       }) {
    const Finding finding = first(row.address);
    EXPECT_EQ(finding.rule, "scaler-address") << row.address;
    EXPECT_EQ(finding.line, 10) << row.address;
    EXPECT_THAT(finding.message, HasSubstr(row.want)) << row.address;
    EXPECT_THAT(finding.message, HasSubstr("HOST:PORT (or dns:///HOST:PORT)")) << row.address;
  }
  for (const char* address :
       {"gpu-scaler:6000", "gpu-scaler.keda.svc.cluster.local:443", "dns:///gpu-scaler.keda:6000",
        "dns://10.0.0.10/gpu-scaler:6000", "dns:gpu-scaler:6000", "dns:/gpu-scaler:6000",
        "DNS:gpu-scaler:6000", "passthrough:///gpu-scaler:6000", "passthrough:gpu-scaler:6000",
        "passthrough://x/gpu-scaler:6000", "${GPU_SCALER_HOST}-gpu-scaler",
        "gpu-scaler.$NAMESPACE"}) {
    EXPECT_EQ(first(address).rule, "") << address << first(address).message;
  }
  EXPECT_EQ(first("keda-gpu-scaler.keda:6001").rule, "agents-address");
  EXPECT_EQ(first("keda-gpu-scaler-agents.keda:6000").rule, "agents-address");
}

// The rules that fire on a trigger that only its keys identify as this scaler's.
std::vector<std::string> RulesAt(const std::string& address) {
  return RulesIn(absl::StrCat(
      "kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  minReplicaCount: 1\n  triggers:\n",
      "  - type: external\n    metadata:\n      scalerAddress: '", address,
      "'\n      metricType: gpu_utilization\n      targetValue: '70'\n",
      "      warmupSeconds: '120'\n      gpuIndex: '0'\n"));
}

TEST(AddressLint, PlaceholdersAndSocketsAreNotChecked) {
  for (const char* address :
       {"${GPU_SCALER_ADDRESS}", "${GPU_SCALER_ADDRESS:=scaler:6000}", "$GPU_SCALER_ADDRESS",
        "$(GPU_SCALER_ADDRESS)", "{{ .Values.scaler }}", "unix:///run/scaler.sock",
        "unix:scaler.sock", "unix-abstract:scaler", "xds:///scaler"}) {
    EXPECT_THAT(RulesAt(address), IsEmpty()) << address;
  }
  EXPECT_THAT(RulesAt("scaler"), ElementsAre("8 scaler-address"));
  EXPECT_THAT(RulesAt(":6000"), ElementsAre("8 scaler-address"));
}

TEST(AddressLint, AnAddressWithoutBracketsOfIpv6HasNoPort) {
  const auto message = [](const std::string& address) {
    const auto findings = FindingsIn(absl::StrCat(
        "kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  minReplicaCount: 1\n  triggers:\n",
        "  - type: external\n    metadata: {scalerAddress: '", address,
        "', warmupSeconds: '120', gpuIndex: '0'}\n"));
    return findings.empty() ? "" : findings[0].message;
  };
  EXPECT_THAT(message("fd00::1"), HasSubstr("without a port that is 443; use \"[fd00::1]:6000\""));
  EXPECT_THAT(message("[fd00::1]"), HasSubstr("use \"[fd00::1]:6000\""));
  EXPECT_EQ(message("[fd00::1]:6000"), "");
}

std::string WithAddress(const std::string& address) {
  return absl::StrCat("kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  triggers:\n",
                      "  - {type: external-push, metadata: {scalerAddress: '", address,
                      "', targetValue: '0'}}\n");
}

TEST(AddressLint, ANoteExplainsHowTriggersAreRecognized) {
  const std::vector<Finding> findings = FindingsIn(WithAddress("weather.ns.svc:80"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Finding::Severity::kNote);
  EXPECT_EQ(findings[0].object, "ScaledObject llm, trigger 0");
  EXPECT_THAT(findings[0].message, HasSubstr("not checked: \"weather.ns.svc\" is not known to be"));
  EXPECT_THAT(findings[0].message, HasSubstr("\"gpu-scaler\" in the host's name"));
  EXPECT_THAT(findings[0].message, HasSubstr("name it with --scaler-address"));
  EXPECT_THAT(FindingsIn("kind: ScaledObject\nspec: {triggers: [{type: external}]}").at(0).message,
              HasSubstr("not checked: it has no scalerAddress"));
}

TEST(AddressLint, RecognizesTheScalersHosts) {
  const auto rule = [](const std::string& address) {
    const auto file = ReadManifestFile(WithAddress(address));
    const auto findings =
        Lint(*file, BuiltInProfiles(), {.our_hosts = {"scaler", "gpus.example.com"}});
    return findings.empty() ? "" : findings.back().rule;
  };
  for (const char* address :
       {"scaler", "scaler:6000", "scaler.keda:6000", "dns:///scaler.keda.svc.cluster.local:6000",
        "dns:scaler.keda:6000", "passthrough:///scaler.keda:6000", "dns://scaler:6000",
        "gpus.example.com:443", "keda-gpu-scaler.gpu-scaler.svc:6000", "my-gpu-scaler:6000"}) {
    EXPECT_EQ(rule(address), "bad-metadata") << address;
  }
  for (const char* address :
       {"scaler2:6000", "other-scaler:6000", "gpus.example.co:443", "", ":6"}) {
    EXPECT_EQ(rule(address), "not-checked") << address;
  }
}

TEST(AddressLint, ATriggerIsRecognizedByItsKeysToo) {
  EXPECT_THAT(RulesIn(R"(
kind: ScaledObject
metadata: {name: llm}
spec:
  minReplicaCount: 1
  triggers:
  - type: external
    metadata: {profileFromEnv: PROFILE, gpuindex: "0"}
)"),
              ElementsAre("7 no-scaler-address", "8 bad-metadata"));
  EXPECT_THAT(RulesIn(R"(
kind: ScaledObject
metadata: {name: llm}
spec:
  minReplicaCount: 1
  triggers:
  - type: external
    metadata: {scalerAddress: "scaler:6000", warmupSeconds: "60", gpuIndex: "x"}
)"),
              ElementsAre("8 bad-metadata"));
}

TEST(AddressLint, TriggersOfOtherScalersGetANote) {
  EXPECT_THAT(RulesIn(R"(
kind: ScaledObject
metadata: {name: other}
spec:
  fallback: {replicas: 3}
  triggers:
  - {type: external, metadata: {scalerAddress: "weather:80", targetValue: 5, city: Ulm}}
  - {type: prometheus, metadata: {metricType: nonsense, threshold: 5}}
)"),
              ElementsAre("7 not-checked"));
  for (const char* key : {"profile", "aggregation", "metricType", "windowAggregation"}) {
    EXPECT_THAT(
        RulesIn(absl::StrCat("kind: ScaledObject\nmetadata: {name: other}\nspec:\n  triggers:\n",
                             "  - {type: external, metadata: {scalerAddress: 'weather:80', ", key,
                             ": hourly, city: Ulm}}\n")),
        ElementsAre("5 not-checked"))
        << key;
  }
  EXPECT_THAT(RulesIn(R"(
kind: ScaledObject
metadata: {name: other}
spec:
  triggers:
  - type: external
    metadata: {scalerAddress: "weather:80", profile: alpine, metricType: wind, aggregation: hourly}
)"),
              ElementsAre("7 not-checked"));
}

}  // namespace
}  // namespace gpuscaler
