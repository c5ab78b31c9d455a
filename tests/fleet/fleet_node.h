// A node of a simulated fleet: GPUs in a file, a kubelet's stand-in on its sockets, and the pods of
// Deployment shop/web that hold the GPUs, one each.
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

// Of a GPU: its utilization; empty: it is there, and reading it fails.
using Percents = std::vector<std::optional<double>>;

// For so long a reading is as good as new. Far longer than any takes: a machine that stands still
// for 6 s is no fault of an agent.
constexpr absl::Duration kStaleAfter = absl::Seconds(12);

class FleetNode {
 public:
  FleetNode(std::string name, const Percents& percents);

  const std::string& name() const { return name_; }
  FakeKubelet& kubelet() { return kubelet_; }

  // From now on the kubelet lists all pods, the agent's among them, or a static one alone, as it
  // does after its start until it hears from the API server.
  void ListPods(bool all);

  // From now on the driver counts and says this.
  void Show(const Percents& percents) const;

  // An agent of this node on 127.0.0.1 and any port, unless `flags` say otherwise.
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
