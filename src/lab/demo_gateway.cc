#include "lab/demo_gateway.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Interval at which held requests look for an engine that has become ready.
constexpr absl::Duration kReadyPollInterval = absl::Milliseconds(5);

}  // namespace

void DemoGateway::SetReady(const std::vector<std::string>& urls) {
  MutexLock lock(mutex_);
  std::map<std::string, int> ready;
  for (const std::string& url : urls) ready[url] = 0;
  for (const auto& [id, url] : in_flight_) {
    if (const auto found = ready.find(url); found != ready.end()) ++found->second;
  }
  ready_ = std::move(ready);
}

int DemoGateway::held() const {
  MutexLock lock(mutex_);
  return static_cast<int>(held_.size());
}

std::string DemoGateway::MetricsEndpoint() const {
  return absl::StrCat("# TYPE ", kHeldMetric, " gauge\n", kHeldMetric, " ", held(), "\n");
}

void DemoGateway::Send(int64_t id) {
  MutexLock lock(mutex_);
  held_.push_back(id);
  SendHeld();
}

void DemoGateway::SendHeld() {
  while (!held_.empty() && !ready_.empty()) {
    const auto fewest =
        std::ranges::min_element(ready_, {}, [](const auto& engine) { return engine.second; });
    ++fewest->second;
    in_flight_[held_.front()] = fewest->first;
    http_->SendTo(fewest->first, held_.front());
    held_.pop_front();
  }
}

std::vector<Answered> DemoGateway::Wait(absl::Duration timeout) {
  {
    MutexLock lock(mutex_);
    SendHeld();
    if (!held_.empty()) timeout = std::min(timeout, kReadyPollInterval);
  }
  return Take(http_->Wait(timeout));
}

// An engine that stops replies with 503 or not at all, so its requests go to another one.
std::vector<Answered> DemoGateway::Take(std::vector<Answered> answers) {
  MutexLock lock(mutex_);
  for (const Answered& answered : answers) {
    const auto found = in_flight_.find(answered.id);
    if (found == in_flight_.end()) continue;  // from an abandoned load
    if (const auto engine = ready_.find(found->second); engine != ready_.end()) --engine->second;
    in_flight_.erase(found);
    if (!answered.error.empty()) held_.push_front(answered.id);
  }
  std::erase_if(answers, [](const Answered& answered) { return !answered.error.empty(); });
  return answers;
}

}  // namespace gpuscaler
