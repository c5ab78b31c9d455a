// `demo`: the scaler at work, without a GPU or a cluster.
#include <memory>

#include "app/commands.h"
#include "app/demo.h"
#include "app/demo_triggers.h"

namespace gpuscaler {

Command DemoCommand() {
  const auto options = std::make_shared<DemoOptions>();
  return {
      .name = "demo",
      .help = "Scale stand-in engines on simulated GPUs through a load, in about 20 seconds.",
      .flags = {IntFlag("speed", "Simulated seconds a real one.", {1, kFastestDemo},
                        &options->speed),
                WordFlag("profile", "NAME", "Profile of the trigger.", DemoProfiles(),
                         &options->profile),
                IntFlag("max-replicas", "maxReplicaCount, and GPUs of the node.",
                        {kFewestDemoReplicas, kMostDemoReplicas}, &options->max_replicas),
                IntFlag("port", "gRPC port on loopback; 0: any free one.", {0, 65535},
                        &options->port),
                SwitchFlag("serve", "Keep serving afterwards, under a steady load, for `query`.",
                           &options->serve)},
      .run = [options](const std::vector<std::string>&) { return RunDemo(*options); }};
}

}  // namespace gpuscaler
