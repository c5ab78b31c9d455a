// A gateway in front of the demo's engines: what arrives while none is ready waits in it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "load/curl_sender.h"

namespace gpuscaler {

// Sends each request over HTTP to the ready engine that has the fewest; one that its engine did not
// serve goes to another. The load's thread sends and waits, any thread may call the others.
class DemoGateway : public Sender {
 public:
  explicit DemoGateway(std::unique_ptr<HttpSender> http) : http_(std::move(http)) {}

  // The URLs of all engines that are ready.
  void SetReady(const std::vector<std::string>& urls);

  int held() const;  // requests that wait for an engine

  // Its page of metrics, for a trigger on how many it holds.
  static constexpr char kHeldMetric[] = "gateway_requests_held";
  std::string MetricsPage() const;

  void Send(int64_t id) override;
  std::vector<Answered> Wait(absl::Duration timeout) override;

 private:
  void SendHeld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Answered> Take(std::vector<Answered> answers);

  const std::unique_ptr<HttpSender> http_;  // the load's thread's
  mutable Mutex mutex_;
  std::deque<int64_t> held_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> ready_ ABSL_GUARDED_BY(mutex_);          // requests by URL
  std::map<int64_t, std::string> under_way_ ABSL_GUARDED_BY(mutex_);  // URL by id
};

}  // namespace gpuscaler
