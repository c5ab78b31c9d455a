// The demo: the real server, engines and load on simulated GPUs and a fast clock, scaled by a model
// of KEDA and the HPA.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "lab/demo_chart.h"
#include "lab/demo_outcome.h"
#include "lab/demo_scaler.h"
#include "lab/demo_scenario.h"
#include "lab/demo_service.h"
#include "role/running_role.h"
#include "serve/http_server.h"
#include "serve/scaler_client.h"
#include "simulate/keda.h"
#include "simulate/load_run.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// At a higher speed GPUs would be sampled less often than the HPA syncs.
constexpr int kFastestDemo = 1000;
constexpr int kFewestDemoReplicas = 3;  // fewer do not show scaling
constexpr int kMaxDemoReplicas = 64;

struct DemoOptions {
  int speed = 150;  // simulated seconds per real second; 1 to kFastestDemo
  std::string profile = "vllm-inference";
  int max_replicas = 8;  // kFewestDemoReplicas to kMaxDemoReplicas
  int port = 0;          // 0: any free one
  int web_port = 0;      // 0: any free one
  std::string prices;    // a file (cost/price_list.h); empty: costs have no money
  std::string currency;
};

struct DemoResult {
  bool stopped = false;  // before the load had ended
  absl::Status outcome;  // FAILED_PRECONDITION: the replicas were not those of the profile
};

// Writes to standard output. Not thread-safe.
class Demo {
 public:
  // Blocks for this duration, or less if the demo must stop. Returns true if it must stop.
  using StopRequested = std::function<bool(absl::Duration)>;

  Demo(const DemoOptions& options, StopRequested stopped);

  // Runs a load of about 50 simulated minutes that rises, holds and ends. Must be called once.
  // Returns INVALID_ARGUMENT if the profile does not exist, and UNAVAILABLE if a file, port or
  // library that the demo needs is missing.
  absl::StatusOr<DemoResult> Run();

  // The port of the web page. Must be called while Run() or KeepServing() waits.
  int web_port() const { return server_->web_port(); }

  // Applies a steady load until the demo must stop. Must be called after Run().
  absl::Status KeepServing();

 private:
  absl::Status Serve();
  absl::StatusOr<std::unique_ptr<RunningRole>> StartServer() const;
  absl::Status Tick(Keda& keda);
  bool Stopping() const;
  absl::StatusOr<bool> RunLoad();  // false: stopped
  absl::Duration passed() const { return clock_.Now() - began_at_; }
  DemoFrame FrameOf(const Keda& keda) const;
  DemoSetting Setting() const;
  std::string WebUrl() const;
  void PrintIntroduction() const;
  ScalingCost MeasuredCost() const;
  absl::Status ReportResult() const;

  const DemoOptions options_;
  const StopRequested stopped_;
  const SteadyClock clock_;
  DemoScenario scenario_;
  TriggerRef by_profile_;
  TriggerRef by_demand_;
  Trigger trigger_;  // parsed from by_profile_
  std::unique_ptr<DemoService> service_;
  std::unique_ptr<HttpServer> gateway_page_;
  std::unique_ptr<RunningRole> server_;
  std::string address_;
  std::unique_ptr<ScalerClient> client_;
  std::vector<KedaTrigger> triggers_;
  absl::Time began_at_;
  int desired_ = 0;  // spec.replicas
  LoadTally tally_;  // in real time
  absl::Duration duration_;
  DemoObservation observed_;
};

}  // namespace gpuscaler
