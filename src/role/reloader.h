// Reloads files that change while the process serves, and keeps the last good content.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "serve/metrics.h"

namespace gpuscaler {

// The kubelet takes up to a minute to update a mounted ConfigMap, so a few seconds more are fine.
constexpr absl::Duration kReloadInterval = absl::Seconds(5);

struct Reloadable {
  ReloadTarget what;
  std::function<absl::Status()> reload;
};

// Each failure sets a metric and is logged once. Not thread-safe.
class Reloader {
 public:
  Reloader(std::vector<Reloadable> files, Metrics& metrics);  // `metrics` must outlive it

  void Tick();

 private:
  const std::vector<Reloadable> files_;
  Metrics& metrics_;
  std::map<ReloadTarget, std::string> last_errors_;
};

}  // namespace gpuscaler
