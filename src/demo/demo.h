// The demo: the real server, engines and load, on simulated GPUs and a fast clock, under a model of
// KEDA and the HPA.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "demo/demo_frame.h"
#include "demo/demo_outcome.h"
#include "demo/demo_scaler.h"
#include "demo/demo_scenario.h"
#include "demo/demo_server.h"
#include "demo/demo_service.h"
#include "load/load_run.h"
#include "serve/http_server.h"
#include "serve/scaler_client.h"
#include "simulate/keda.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Faster, and a look at the GPUs would come later than the HPA's next sync.
constexpr int kFastestDemo = 1000;
constexpr int kFewestDemoReplicas = 3;  // fewer show no scaling
constexpr int kMostDemoReplicas = 64;

struct DemoOptions {
  int speed = 150;  // simulated seconds a real one; 1 to kFastestDemo
  std::string profile = "vllm-inference";
  int max_replicas = 8;  // kFewestDemoReplicas to kMostDemoReplicas
  int port = 0;          // 0: any free one
};

struct DemoEnd {
  bool stopped = false;  // before the load had ended
  absl::Status
      outcome;  // FAILED_PRECONDITION: how replicas did not go as the profile means them to
};

// On standard output. Not thread-safe.
class Demo {
 public:
  // Waits for so long, less when the demo is to end, and says whether it is.
  using Stopped = std::function<bool(absl::Duration)>;

  Demo(const DemoOptions& options, StartDemoServer start_server, Stopped stopped);

  // About 50 simulated minutes: a load that rises, holds and ends. Once. INVALID_ARGUMENT: no such
  // profile; UNAVAILABLE: what it takes cannot be had.
  absl::StatusOr<DemoEnd> Run();

  // After Run(): a steady load, until it is to end.
  absl::Status KeepServing();

 private:
  absl::Status Serve();
  DemoServerOptions ServerOptions() const;
  absl::Status Tick(Keda& keda);
  bool Stopping() const;
  absl::StatusOr<bool> RunLoad();  // false: told to stop
  absl::Duration passed() const { return clock_.Now() - began_at_; }
  DemoFrame FrameOf(const Keda& keda) const;
  DemoSetting Setting() const;
  void Introduce() const;
  ScalingCost Ours() const;
  absl::Status Conclude() const;

  const DemoOptions options_;
  const StartDemoServer start_server_;
  const Stopped stopped_;
  const SteadyClock clock_;
  DemoScenario scenario_;
  TriggerRef by_profile_;
  TriggerRef by_demand_;
  Trigger trigger_;  // of by_profile_
  std::unique_ptr<DemoService> service_;
  std::unique_ptr<HttpServer> gateway_page_;
  std::unique_ptr<DemoServer> server_;
  std::string address_;
  std::unique_ptr<ScalerClient> client_;
  RemoteTriggers triggers_;
  absl::Time began_at_;
  int desired_ = 0;  // spec.replicas
  LoadTally tally_;  // in real time
  absl::Duration took_;
  DemoCourse course_;
};

}  // namespace gpuscaler
