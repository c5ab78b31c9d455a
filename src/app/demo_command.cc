// `demo`: the scaler at work, without a GPU or a cluster.
#include <memory>

#include "app/commands.h"
#include "app/demo.h"
#include "scaling/profile.h"

namespace gpuscaler {
namespace {

std::vector<std::string> ProfileNames() {
  std::vector<std::string> names;
  for (const auto& [name, profile] : BuiltInProfiles()) names.push_back(name);
  return names;
}

}  // namespace

Command DemoCommand() {
  const auto options = std::make_shared<DemoOptions>();
  return {
      .name = "demo",
      .help = "Scale a simulated inference service through a load, in about 20 seconds.",
      .flags = {IntFlag("speed", "Simulated seconds a real one.", {1, kFastestDemo},
                        &options->speed),
                WordFlag("profile", "NAME", "Profile of the trigger.", ProfileNames(),
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
