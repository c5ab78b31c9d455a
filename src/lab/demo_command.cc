// `demo`: runs the scaler without a GPU or a cluster.
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/open_files_limit.h"
#include "app/termination.h"
#include "base/status_macros.h"
#include "lab/demo.h"
#include "lab/demo_triggers.h"
#include "lab/lab_commands.h"
#include "role/running_role.h"

namespace gpuscaler {
namespace {

Config ConfigOf(const DemoServerOptions& options) {
  Config config;
  config.bind_address = "127.0.0.1";
  config.port = options.port == 0 ? kAnyPort : options.port;
  config.metrics_port = 0;
  config.probe_port = 0;
  config.attribution = AttributionMode::kNone;
  config.gpu_source = absl::StrCat("file:", options.gpu_file);
  config.node_name = "demo";
  config.poll_interval = options.interval;
  config.engine_interval = options.interval;
  config.queue_interval = options.interval;
  config.allow_endpoints = "127.0.0.0/8";
  config.stale_after = options.stale_after;
  return config;
}

class StandaloneDemoServer : public DemoServer {
 public:
  explicit StandaloneDemoServer(std::unique_ptr<RunningRole> running)
      : running_(std::move(running)) {}
  int grpc_port() const override { return running_->grpc_port(); }

 private:
  const std::unique_ptr<RunningRole> running_;
};

absl::StatusOr<std::unique_ptr<DemoServer>> StartStandalone(const DemoServerOptions& options,
                                                            const Clock& clock) {
  ASSIGN_OR_RETURN(auto running, RunningRole::Start(ConfigOf(options), clock,
                                                    {.addresses = options.addresses,
                                                     .clock_speed = options.clock_speed}));
  return std::make_unique<StandaloneDemoServer>(std::move(running));
}

struct DemoFlags {
  DemoOptions options;
  bool serve = false;  // keep serving afterwards, under a steady load
};

absl::StatusOr<int> Show(Demo& demo, bool serve) {
  ASSIGN_OR_RETURN(const DemoResult result, demo.Run());
  if (result.stopped) return std::cout ? kExitFindings : kExitOk;  // main() reports failed output
  const int code = result.outcome.ok()
                       ? kExitOk
                       : Fail("keda-gpu-scaler-lab demo", result.outcome, kExitFindings);
  if (serve) RETURN_IF_ERROR(demo.KeepServing());
  return code;
}

int RunDemo(const DemoFlags& flags) {
  const TerminationSignals signals;                  // before any thread
  StartLogging(LogLevel::kError, LogFormat::kText);  // keeps the chart readable
  RaiseOpenFilesLimit();
  Demo demo(flags.options, StartStandalone,
            [&signals](absl::Duration wait) { return signals.WaitFor(wait) != 0; });
  const absl::StatusOr<int> code = Show(demo, flags.serve);
  return code.ok() ? *code
                   : Fail("keda-gpu-scaler-lab demo", code.status(),
                          ExitCodeOf(code.status(), kExitCannotServe));
}

}  // namespace

Command DemoCommand() {
  const auto flags = std::make_shared<DemoFlags>();
  DemoOptions& options = flags->options;
  return {
      .name = "demo",
      .help = "Scale simulated engines on simulated GPUs through a load, in about 20 seconds.",
      .flags =
          {IntFlag("speed", "Simulated seconds a real one.", {1, kFastestDemo}, &options.speed),
           WordFlag("profile", "NAME", "Profile of the trigger.", DemoProfiles(), &options.profile),
           IntFlag("max-replicas", "maxReplicaCount, and GPUs of the node.",
                   {kFewestDemoReplicas, kMaxDemoReplicas}, &options.max_replicas),
           IntFlag("port", "gRPC port on loopback; 0: any free one.", {0, 65535}, &options.port),
           SwitchFlag("serve",
                      "Keep serving afterwards, under a steady load, for keda-gpu-scaler query.",
                      &flags->serve)},
      .run = [flags](const std::vector<std::string>&) { return RunDemo(*flags); }};
}

}  // namespace gpuscaler
