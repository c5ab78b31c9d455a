// Files that may change while we serve: read again, the last good content kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "serve/metrics.h"

namespace gpuscaler {

// A ConfigMap takes the kubelet up to a minute to write: a few seconds more are not felt.
constexpr absl::Duration kReloadInterval = absl::Seconds(5);

struct Reloadable {
  Reload what;
  std::function<absl::Status()> reload;
};

// One thread's. Each failure raises a metric, and is logged once.
class Reloader {
 public:
  Reloader(std::vector<Reloadable> files, Metrics& metrics);  // `metrics` outlives it

  void Tick();

 private:
  const std::vector<Reloadable> files_;
  Metrics& metrics_;
  std::map<Reload, std::string> last_errors_;
};

}  // namespace gpuscaler
