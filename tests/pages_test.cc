// Help, version, manual, completion and lint, as processes.
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "process.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr char kGood[] = R"(kind: ScaledObject
metadata: {name: llm}
spec:
  scaleTargetRef: {name: llm}
  minReplicaCount: 1
  triggers:
    - type: external-push
      metadata: {scalerAddress: "keda-gpu-scaler:6000", metricType: gpu_utilization, targetValue: "80"}
)";

constexpr char kTypo[] = R"(kind: ScaledObject
metadata: {name: llm}
spec:
  scaleTargetRef: {name: llm}
  minReplicaCount: 1
  triggers:
    - type: external-push
      metadata:
        scalerAddress: keda-gpu-scaler:6000
        targetValeu: "80"
)";

TEST(Program, PrintsItsVersionAndItsCommands) {
  const Finished version = RunProgram({"version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, MatchesRegex("keda-gpu-scaler " GPUSCALER_VERSION
                                        R"(( \(commit [0-9a-f]+(, [0-9-]+)?\))?)"
                                        "\n"));
  EXPECT_EQ(RunProgram({"--version"}).out, version.out);
  const Finished help = RunProgram({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* command :
       {"serve", "gpus", "query", "top", "explain", "lint", "version", "completion", "man"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
  }
  EXPECT_THAT(RunProgram({"serve", "--help"}).out, HasSubstr("--stale-after"));
}

TEST(Program, MistypedCommandOrFlagExits2AndNamesTheNearest) {
  const Finished typo = RunProgram({"qeury"});
  EXPECT_EQ(typo.code, 2);
  EXPECT_THAT(typo.err, HasSubstr("did you mean \"query\"?"));
  const Finished one_dash = RunProgram({"-metrics-port", "9090"});
  EXPECT_EQ(one_dash.code, 2);
  EXPECT_THAT(one_dash.err, HasSubstr("did you mean \"--metrics-port\"?"));
}

TEST(Program, CompletionIsThereForThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished completion = RunProgram({"completion", shell});
    EXPECT_EQ(completion.code, 0);
    EXPECT_THAT(completion.out, HasSubstr("stale-after")) << shell;
    EXPECT_THAT(completion.out, Not(HasSubstr("reference"))) << shell;
  }
  EXPECT_EQ(RunProgram({"completion", "tcsh"}).code, 2);
}

TEST(Program, ManualPageIsRoff) {
  EXPECT_EQ(RunProgram({"man"}).out.rfind(".TH KEDA\\-GPU\\-SCALER 1", 0), 0u);
}

TEST(Lint, ExitCodesDistinguishCleanFindingsAndUnreadable) {
  const Finished good = RunProgram({"lint", WriteTestFile("good.yaml", kGood)});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  const Finished typo = RunProgram({"lint", WriteTestFile("typo.yaml", kTypo)});
  EXPECT_EQ(typo.code, 1);
  EXPECT_THAT(typo.out, HasSubstr("typo.yaml:10: error: "));
  EXPECT_THAT(typo.out, HasSubstr("did you mean \"targetValue\"?"));
  EXPECT_EQ(RunProgram({"lint", "/no/such.yaml"}).code, 2);
  EXPECT_EQ(RunProgram({"lint", WriteTestFile("broken.yaml", "a: [")}).code, 2);
  EXPECT_EQ(RunProgram({"lint"}).code, 2);
}

TEST(Lint, AFolderStandsForItsManifestsAndThoseBelowIt) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "manifests";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "team");
  EXPECT_THAT(RunProgram({"lint", folder}).err, HasSubstr("no file in this folder ends in .yaml"));
  std::ofstream(folder / "good.yaml") << kGood;
  std::ofstream(folder / "team/typo.yml") << kTypo;
  std::ofstream(folder / "team/notes.txt") << "a: [";
  const Finished found = RunProgram({"lint", folder});
  EXPECT_EQ(found.code, 1) << found.err;
  EXPECT_THAT(found.out, HasSubstr((folder / "team/typo.yml").string() + ":10: error: "));
}

// Runs lint on a ScaledObject in namespace ai, with this metadata from line 11 on.
Finished LintOf(const std::string& metadata, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> arguments = {"lint", "-"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return RunProgram(arguments, {},
                    absl::StrCat(R"(kind: ScaledObject
apiVersion: keda.sh/v1alpha1
metadata: {name: llm, namespace: ai}
spec:
  scaleTargetRef: {name: llm}
  minReplicaCount: 1
  triggers:
    - type: external-push
      metadata:
        scalerAddress: keda-gpu-scaler:6000
)",
                                 metadata));
}

TEST(Lint, EndpointsThatTheScalerRefusesAreFindings) {
  const std::string page =
      "        metricType: prometheus\n        targetValue: \"5\"\n"
      "        prometheusMetric: waiting\n        prometheusEndpoint: ";
  EXPECT_EQ(LintOf(page + "http://gateway:9090/metrics\n").code, 0);
  for (const char* bad :
       {"http://gateway:99999/", "http://u:p@gateway:9090/", "gopher://gateway"}) {
    const Finished found = LintOf(absl::StrCat(page, bad, "\n"));
    EXPECT_EQ(found.code, 1) << bad;
    EXPECT_THAT(found.out, HasSubstr(":14: error: ")) << bad;
    EXPECT_THAT(found.out, HasSubstr("[bad-metadata]")) << bad;
  }
  const Finished selector = LintOf(
      "        metricType: prometheus\n        targetValue: \"5\"\n"
      "        prometheusMetric: 'waiting{'\n        prometheusEndpoint: http://gateway:9090/\n");
  EXPECT_THAT(selector.out, HasSubstr(":13: error: "));
  const Finished queue = LintOf(
      "        metricType: redis_list_length\n        targetValue: \"5\"\n"
      "        redisList: jobs\n        redisAddress: http://redis/x\n");
  EXPECT_THAT(queue.out, HasSubstr(":14: error: "));
}

TEST(Lint, AnEndpointOfAnotherNamespaceMustBeAllowed) {
  const std::string metadata =
      "        metricType: prometheus\n        targetValue: \"5\"\n"
      "        prometheusMetric: waiting\n        prometheusEndpoint: http://gateway.infra:9090/\n";
  const Finished found = LintOf(metadata);
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.out, HasSubstr(":14: warning: "));
  EXPECT_THAT(found.out, HasSubstr("[endpoint-not-allowed]"));
  EXPECT_EQ(LintOf(metadata, {"--allow-endpoints=gateway.infra"}).code, 0);
  const Finished engines =
      LintOf("        profile: vllm-queue-depth\n        vllmEndpoint: http://llm.infra:8000\n");
  EXPECT_THAT(engines.out, HasSubstr(":12: warning: "));
  EXPECT_THAT(engines.out, HasSubstr("vllmEndpoint: "));
  EXPECT_EQ(LintOf(metadata, {"--allow-endpoints=http://gateway"}).code, 2);
}

TEST(Lint, AnotherScalersTriggerIsANoteNotAFailure) {
  std::string manifest = kTypo;
  manifest.replace(manifest.find("keda-gpu-scaler"), 15, "scaler");
  const Finished noted = RunProgram({"lint", "-"}, {}, manifest);
  EXPECT_EQ(noted.code, 0) << noted.out;
  EXPECT_THAT(noted.out, HasSubstr(":9: note: ScaledObject llm, trigger 0: not checked: "));
  EXPECT_THAT(noted.out, HasSubstr("--scaler-address"));
  const Finished named =
      RunProgram({"lint", "--scaler-address=other", "--scaler-address=scaler", "-"}, {}, manifest);
  EXPECT_EQ(named.code, 1) << named.out;
  EXPECT_THAT(named.out, HasSubstr("[bad-metadata]"));
}

TEST(Lint, TheTriggersServiceMayBeInAnotherFile) {
  const std::string object = WriteTestFile(
      "scaledobject.yaml",
      absl::StrReplaceAll(kGood,
                          {{"metricType: gpu_utilization, targetValue: \"80\"",
                            "profile: vllm-inference, engineEndpoint: \"http://llm-engines:8000\", "
                            "maxConcurrency: \"64\", tpotSloMs: \"30\""}}));
  const auto service = [](const std::string& spec) {
    return WriteTestFile(
        "service.yaml",
        absl::StrCat("kind: Service\nmetadata: {name: llm-engines}\n", "spec: {", spec, "}\n"));
  };
  const Finished alone = RunProgram({"lint", object});
  EXPECT_EQ(alone.code, 0) << alone.out;
  EXPECT_THAT(alone.out, HasSubstr("[service-not-seen]"));
  const Finished refused = RunProgram({"lint", object, service("type: LoadBalancer")});
  EXPECT_EQ(refused.code, 1) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("is Service llm-engines of type LoadBalancer, one address"));
  EXPECT_THAT(refused.out, HasSubstr("[service-not-headless]"));
  const Finished headless = RunProgram({"lint", service("clusterIP: None"), object});
  EXPECT_EQ(headless.code, 0) << headless.out;
  EXPECT_EQ(headless.out, "");
}

TEST(Lint, AFileWithoutAScaledObjectIsNotedUnlessAnotherHasOne) {
  const std::string service =
      WriteTestFile("only-service.yaml", "kind: Service\nmetadata: {name: llm}\n");
  const Finished alone = RunProgram({"lint", service});
  EXPECT_EQ(alone.code, 0) << alone.out;
  EXPECT_THAT(alone.out, HasSubstr("only-service.yaml:1: note: the file: no ScaledObject"));
  EXPECT_EQ(RunProgram({"lint", service, WriteTestFile("good.yaml", kGood)}).out, "");
}

TEST(Lint, DiscoveredEnginesNeedNoEndpoint) {
  const std::string metadata = "        profile: vllm-requests\n";
  const Finished unnamed = LintOf(metadata);
  EXPECT_EQ(unnamed.code, 1);
  EXPECT_THAT(unnamed.out, HasSubstr("[engine-not-named]"));
  const Finished found = LintOf(metadata, {"--discover-engines"});
  EXPECT_EQ(found.code, 0) << found.out;
}

TEST(Lint, NamesTheLayerOfUnreadableProfiles) {
  const Finished lint = RunProgram({"lint", "-"}, {{"KEDA_GPU_SCALER_PROFILES", "/no/p"}}, kGood);
  EXPECT_EQ(lint.code, 2);
  EXPECT_THAT(lint.err, HasSubstr("environment KEDA_GPU_SCALER_PROFILES=/no/p: cannot be read"));
}

TEST(Lint, ReadsStandardInput) {
  EXPECT_EQ(RunProgram({"lint", "-"}, {}, kGood).code, 0);
  EXPECT_EQ(RunProgram({"lint", "-"}, {}, kTypo).code, 1);
}

TEST(Lint, SarifAndJsonCarryTheFinding) {
  const std::string path = WriteTestFile("typo.yaml", kTypo);
  const auto sarif = nlohmann::json::parse(RunProgram({"lint", "--format=sarif", path}).out);
  EXPECT_EQ(sarif["runs"][0]["results"].size(), 1u);
  const auto json = nlohmann::json::parse(RunProgram({"lint", "--format=json", path}).out);
  EXPECT_EQ(json["findings"][0]["line"], 10);
}

TEST(Lint, AcceptsTheProfilesOfAFile) {
  const std::string profiles =
      WriteTestFile("profiles.yaml", "profiles: {ours: {metricType: gpu_utilization}}\n");
  std::string manifest = kGood;
  manifest.replace(manifest.find("metricType: gpu_utilization"), 27, "profile: ours");
  EXPECT_EQ(RunProgram({"lint", "-"}, {}, manifest).code, 1);
  const Finished known = RunProgram({"lint", "--profiles", profiles, "-"}, {}, manifest);
  EXPECT_EQ(known.code, 0) << known.out << known.err;
}

}  // namespace
}  // namespace gpuscaler
