// A gateway in front of the demo's engines. It holds requests while no engine is ready.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "simulate/curl_sender.h"

namespace gpuscaler {

// Sends each request over HTTP to the ready engine with the fewest requests. A request that its
// engine did not serve goes to another one. Send() and Wait() must be called by the load's thread,
// the others by any.
class DemoGateway : public Sender {
 public:
  explicit DemoGateway(std::unique_ptr<HttpSender> http) : http_(std::move(http)) {}

  // Must have the URLs of all ready engines.
  void SetReady(const std::vector<std::string>& urls);

  int held() const;  // requests that wait for an engine

  // The exposition for a trigger on held requests.
  static constexpr char kHeldMetric[] = "gateway_requests_held";
  std::string MetricsEndpoint() const;

  void Send(int64_t id) override;
  std::vector<Answered> Wait(absl::Duration timeout) override;

 private:
  void SendHeld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Answered> Take(std::vector<Answered> answers);

  const std::unique_ptr<HttpSender> http_;  // used by the load's thread only
  mutable Mutex mutex_;
  std::deque<int64_t> held_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> ready_ ABSL_GUARDED_BY(mutex_);          // requests by URL
  std::map<int64_t, std::string> in_flight_ ABSL_GUARDED_BY(mutex_);  // URL by id
};

}  // namespace gpuscaler
