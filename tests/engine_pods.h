// Pods with network namespaces that hold GPUs, and programs in them. For tests of the whole program
// in which engines are found as without hostPID: at the kubelet's pod addresses and the engines'
// default ports.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/test_folder.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "process.h"
#include "serve/test_http_client.h"
#include "signal/test_pod_network.h"

namespace gpuscaler {

// Pods of Deployment/llm. Each has a GPU on which its engine has allocated VRAM, and any other
// programs.
class EnginePodsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(EnterOwnNetwork().ok());
    kubelet_.ServePodsApi(true);
  }

  void AddPod(const std::string& name) {
    const int number = static_cast<int>(networks_.size()) + 1;
    networks_.push_back(std::make_unique<TestPodNetwork>(number));
    ASSERT_TRUE(networks_.back()->status().ok()) << networks_.back()->status();
    const std::string uuid = absl::StrCat("GPU-", number);
    pods_.push_back(
        {.devices = {.namespace_name = "shop",
                     .name = name,
                     .devices = {{.container = "main", .resource = "nvidia.com/gpu", .id = uuid}}},
         .of_api = {.namespace_name = "shop",
                    .name = name,
                    .uid = absl::StrCat("uid-", number),
                    .labels = {{"pod-template-hash", "6d4cf56db6"}},
                    .owner_references =
                        {{.kind = "ReplicaSet", .name = "llm-6d4cf56db6", .is_controller = true}},
                    .ready = true,
                    .address = networks_.back()->address()}});
    kubelet_.SetPods(pods_);
    gpus_.push_back(absl::StrCat(R"({"uuid": ")", uuid, R"(", "name": "Sim", )",
                                 R"("utilization_percent": 100, "memory_used_bytes": 72000, )",
                                 R"("memory_total_bytes": 80000})"));
    ReplaceFile(gpu_file_, absl::StrCat(R"({"gpus": [)", absl::StrJoin(gpus_, ", "), "]}"));
  }

  std::function<void()> InPod(int pod) const {
    const std::string network = absl::StrCat("/proc/", networks_[pod]->pid(), "/ns/net");
    return [network] {
      const int there = open(network.c_str(), O_RDONLY | O_CLOEXEC);
      if (setns(there, CLONE_NEWNET) != 0) _exit(1);
    };
  }

  std::unique_ptr<Process> StartEngine(int pod, int port,
                                       const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args = {"engine",
                                     "--bind-address=0.0.0.0",
                                     absl::StrCat("--port=", port),
                                     "--max-num-seqs=10",
                                     "--load-time=0s",
                                     "--kv-cache-tokens=1000000",
                                     "--tokens-per-second=1",
                                     "--full-batch-tokens-per-second=1"};
    args.insert(args.end(), more.begin(), more.end());
    auto engine = std::make_unique<Process>(args, Variables(), "", std::nullopt, InPod(pod));
    EXPECT_TRUE(engine->WaitForErr("event=serving")) << engine->Diagnostics();
    return engine;
  }

  // Starts five requests that take minutes.
  std::unique_ptr<Process> StartLoad(int pod, int port) const {
    return std::make_unique<Process>(std::vector<std::string>{
        "load", absl::StrCat("--target=http://", networks_[pod]->address(), ":", port), "--rate=20",
        "--duration=250ms", "--max-tokens=4000", "--timeout=10m"});
  }

  std::unique_ptr<TestServer> StartSidecar(int pod, int port) const {
    std::unique_ptr<TestServer> sidecar;
    networks_[pod]->RunInside([&] {
      sidecar = std::make_unique<TestServer>("0.0.0.0",
                                             "# TYPE go_goroutines gauge\ngo_goroutines 7\n", port);
    });
    EXPECT_EQ(sidecar->port(), port);
    return sidecar;
  }

  // Flags for a role that reads this node's GPUs.
  std::vector<std::string> NodeFlags() const {
    return {absl::StrCat("--gpu-source=file:", gpu_file_),
            "--attribution=kubelet",
            absl::StrCat("--pod-resources-socket=", kubelet_.pod_resources_socket()),
            absl::StrCat("--pods-api-socket=", kubelet_.pods_api_socket()),
            "--poll-interval=100ms",
            "--engine-interval=200ms",
            "--stale-after=5s"};
  }

  // Returns KEDA's value for the three-line trigger, with the explanation.
  std::string Query(std::vector<std::string> metadata = {"profile=vllm-inference"}) const {
    std::vector<std::string> args = {"query", server_->Address(), "--namespace=shop", "--name=llm",
                                     "--explain"};
    args.insert(args.end(), metadata.begin(), metadata.end());
    const Finished query = RunProgram(args);
    return absl::StrCat(query.out, query.err);
  }
  // Returns the answer once it contains `text`, or the last one after 30 s.
  std::string QueryUntil(const std::string& text,
                         const std::vector<std::string>& metadata = {"profile=vllm-inference"}) {
    std::string answer;
    Eventually(
        [&] {
          answer = Query(metadata);
          return answer.find(text) != std::string::npos;
        },
        absl::Seconds(30));
    return absl::StrCat(answer, "\n", server_->process().Err());
  }

  const TestFolder folder_;
  const std::string gpu_file_ = folder_.Write("gpus.json", R"({"gpus": []})");
  FakeKubelet kubelet_{folder_.path()};
  std::vector<FakeKubelet::Pod> pods_;
  std::vector<std::string> gpus_;
  std::vector<std::unique_ptr<TestPodNetwork>> networks_;
  std::unique_ptr<Server> server_;  // answers KEDA
};

}  // namespace gpuscaler
