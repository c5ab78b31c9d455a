#include "demo/demo_gateway.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Until what is held finds an engine that has become ready.
constexpr absl::Duration kLookForReady = absl::Milliseconds(5);

}  // namespace

void DemoGateway::SetReady(const std::vector<std::string>& urls) {
  MutexLock lock(mutex_);
  std::map<std::string, int> ready;
  for (const std::string& url : urls) ready[url] = 0;
  for (const auto& [id, url] : under_way_) {
    if (const auto found = ready.find(url); found != ready.end()) ++found->second;
  }
  ready_ = std::move(ready);
}

int DemoGateway::held() const {
  MutexLock lock(mutex_);
  return static_cast<int>(held_.size());
}

std::string DemoGateway::MetricsPage() const {
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
    under_way_[held_.front()] = fewest->first;
    http_->SendTo(fewest->first, held_.front());
    held_.pop_front();
  }
}

std::vector<Answered> DemoGateway::Wait(absl::Duration timeout) {
  {
    MutexLock lock(mutex_);
    SendHeld();
    if (!held_.empty()) timeout = std::min(timeout, kLookForReady);
  }
  return Take(http_->Wait(timeout));
}

// An engine that ends answers 503, or not at all: its requests are another's then.
std::vector<Answered> DemoGateway::Take(std::vector<Answered> answers) {
  MutexLock lock(mutex_);
  for (const Answered& answered : answers) {
    const auto found = under_way_.find(answered.id);
    if (found == under_way_.end()) continue;  // of a load that was given up
    if (const auto engine = ready_.find(found->second); engine != ready_.end()) --engine->second;
    under_way_.erase(found);
    if (!answered.error.empty()) held_.push_front(answered.id);
  }
  std::erase_if(answers, [](const Answered& answered) { return !answered.error.empty(); });
  return answers;
}

}  // namespace gpuscaler
