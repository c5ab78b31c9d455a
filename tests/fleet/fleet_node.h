// A node of a simulated fleet: GPUs in a file, a fake kubelet on its sockets, and pods of the
// Deployment shop/web that hold one GPU each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/test_folder.h"
#include "kubelet/fake_kubelet.h"
#include "process.h"

namespace gpuscaler {

// Utilization by GPU; empty: the GPU exists but reading it fails.
using Percents = std::vector<std::optional<double>>;

// Age at which a reading is stale. Far longer than a reading takes: a VM may pause for 6 s.
constexpr absl::Duration kStaleAfter = absl::Seconds(12);

class FleetNode {
 public:
  FleetNode(std::string name, const Percents& percents);

  const std::string& name() const { return name_; }
  FakeKubelet& kubelet() { return kubelet_; }

  // `all`: the kubelet lists all pods, the agent's included. Otherwise only a static pod, as after
  // the kubelet's start until the API server has sent the rest.
  void ListPods(bool all);

  // Sets what the driver reports.
  void Show(const Percents& percents) const;

  // Starts an agent of this node on 127.0.0.1 and any port, unless `flags` override that.
  std::unique_ptr<Server> StartAgent(const std::vector<std::string>& flags = {},
                                     const Variables& variables = {},
                                     const std::function<void()>& in_child = {}) const;

 private:
  const std::string name_;
  const TestFolder folder_;
  const std::string file_;
  std::vector<FakeKubelet::Pod> pods_;
  FakeKubelet kubelet_;
};

}  // namespace gpuscaler
