#include "fleet_node.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// A suffix of the letters that Kubernetes uses in names.
std::string PodSuffix() {
  constexpr absl::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  static size_t made = 0;
  const size_t n = made++;
  return absl::StrCat("x7k", kLetters.substr(n / kLetters.size() % kLetters.size(), 1),
                      kLetters.substr(n % kLetters.size(), 1));
}

std::string AgentPod(const std::string& node) { return absl::StrCat("agent-", node); }

std::string UuidOf(const std::string& node, size_t gpu) {
  return absl::StrCat("GPU-", node, "-", gpu);
}

std::string FileText(const std::string& node, const Percents& percents) {
  std::vector<std::string> gpus;
  for (size_t i = 0; i < percents.size(); ++i) {
    const std::string shown = percents[i] ? absl::StrCat(*percents[i]) : "null";
    gpus.push_back(absl::StrCat(R"({"index": )", i, R"(, "uuid": ")", UuidOf(node, i),
                                R"(", "name": "Sim", "utilization_percent": )", shown, "}"));
  }
  return absl::StrCat(R"({"gpus": [)", absl::StrJoin(gpus, ", "), "]}\n");
}

}  // namespace

FleetNode::FleetNode(std::string name, const Percents& percents)
    : name_(std::move(name)),
      file_(folder_.Write("gpus.json", FileText(name_, percents))),
      kubelet_(folder_.path()) {
  for (size_t i = 0; i < percents.size(); ++i) {
    pods_.push_back(
        {.devices = {
             "shop",
             absl::StrCat("web-6d4cf56db6-", PodSuffix()),
             {{.container = "vllm", .resource = "nvidia.com/gpu", .id = UuidOf(name_, i)}}}});
  }
  ListPods(true);
}

void FleetNode::ListPods(bool all) {
  std::vector<FakeKubelet::Pod> pods;
  pods.push_back({.devices = {"kube-system", absl::StrCat("kube-proxy-", name_), {}}});
  if (all) {
    pods.push_back({.devices = {"gpu-scaler", AgentPod(name_), {}}});
    pods.insert(pods.end(), pods_.begin(), pods_.end());
  }
  kubelet_.SetPods(std::move(pods));
}

void FleetNode::Show(const Percents& percents) const {
  ReplaceFile(file_, FileText(name_, percents));
}

std::unique_ptr<Server> FleetNode::StartAgent(const std::vector<std::string>& flags,
                                              const Variables& variables,
                                              const std::function<void()>& in_child) const {
  std::vector<std::string> all = {
      "--role=agent",
      "--poll-interval=100ms",
      "--attribution=kubelet",
      absl::StrCat("--stale-after=", absl::FormatDuration(kStaleAfter)),
      absl::StrCat("--node-name=", name_),
      absl::StrCat("--gpu-source=file:", file_),
      absl::StrCat("--pod-resources-socket=", kubelet_.pod_resources_socket()),
      absl::StrCat("--pods-api-socket=", kubelet_.pods_api_socket())};
  all.insert(all.end(), flags.begin(), flags.end());
  Variables of_pod = variables;
  of_pod.insert({{"POD_NAMESPACE", "gpu-scaler"}, {"POD_NAME", AgentPod(name_)}});
  auto agent = std::make_unique<Server>(all, of_pod, in_child);
  EXPECT_TRUE(agent->Ready()) << agent->process().Diagnostics();
  return agent;
}

}  // namespace gpuscaler
