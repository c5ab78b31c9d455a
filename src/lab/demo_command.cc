// `demo`: runs the scaler without a GPU or a cluster.
#include <iostream>
#include <memory>

#include "app/commands.h"
#include "app/open_files_limit.h"
#include "app/termination.h"
#include "base/status_macros.h"
#include "lab/demo.h"
#include "lab/demo_triggers.h"
#include "lab/lab_commands.h"

namespace gpuscaler {
namespace {

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
  Demo demo(flags.options, [&signals](absl::Duration wait) { return signals.WaitFor(wait) != 0; });
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
           IntFlag("web-port", "Port of the web page on loopback; 0: any free one.", {0, 65535},
                   &options.web_port),
           TextFlag("prices", "FILE",
                    "Prices of GPU models for the view Cost: \"GPU model,price per hour\". The "
                    "simulated model is Simulated 80 GB.",
                    &options.prices),
           TextFlag("currency", "CODE", "Currency of --prices, such as USD.", &options.currency),
           SwitchFlag("serve",
                      "Keep serving afterwards, under a steady load, for keda-gpu-scaler query.",
                      &flags->serve)},
      .run = [flags](const std::vector<std::string>&) { return RunDemo(*flags); }};
}

}  // namespace gpuscaler
