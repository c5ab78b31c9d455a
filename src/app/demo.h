// The demo: the real server, engines and load, on simulated GPUs and a fast clock, under a model of
// KEDA and the HPA.
#pragma once

#include <string>

namespace gpuscaler {

// Faster, and a look at the GPUs would come later than the HPA's next sync.
constexpr int kFastestDemo = 1000;
constexpr int kFewestDemoReplicas = 3;  // fewer show no scaling
constexpr int kMostDemoReplicas = 64;

struct DemoOptions {
  int speed = 150;  // simulated seconds a real one; 1 to kFastestDemo
  std::string profile = "vllm-inference";
  int max_replicas = 8;  // kFewestDemoReplicas to kMostDemoReplicas
  bool serve = false;    // afterwards: keep serving, under a steady load
  int port = 0;          // 0: any free one
};

// About 50 simulated minutes: a load that rises, holds and ends. The exit code: kExitFindings when
// the replicas did not go from 0 up and back to 0 as the profile means them to.
int RunDemo(const DemoOptions& options);

}  // namespace gpuscaler
