#include "keda_log.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "externalscaler.pb.h"
#include "gtest/gtest.h"
#include "wire/channel.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(50);
constexpr absl::Duration kReopenPause = absl::Seconds(2);  // as KEDA does after OK
constexpr absl::Duration kLongEnough = absl::Seconds(1);

std::string TextOf(const KedaAnswer& answer) {
  if (!answer.value.ok()) return absl::StatusCodeToString(answer.value.status().code());
  const bool inactive = answer.active.ok() && !*answer.active;
  return absl::StrCat(*answer.value, inactive ? " (inactive)" : "");
}

bool IsIt(const KedaAnswer& answer, double value) {
  return answer.value.ok() && *answer.value == value && answer.active.ok() && *answer.active;
}

}  // namespace

// Its thread opens one stream after another.
class KedaLog::Watcher : private ClientCall::Listener {
 public:
  Watcher(const std::string& address, const TriggerRef& trigger)
      : channel_(loop_, {.address = address}),
        request_(RequestFor(trigger)),
        thread_([this] { Watch(); }) {}
  ~Watcher() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }

  int pushed() const {
    MutexLock lock(mutex_);
    return pushed_;
  }

 private:
  static std::string RequestFor(const TriggerRef& trigger) {
    externalscaler::ScaledObjectRef ref;
    ref.set_name(trigger.name);
    ref.set_namespace_(trigger.namespace_name);
    for (const auto& [key, value] : trigger.metadata) (*ref.mutable_scalermetadata())[key] = value;
    return ref.SerializeAsString();
  }

  void Watch() {
    MutexLock lock(mutex_);
    while (!stopping_) {
      has_ended_ = false;
      const auto call = channel_.Start("/externalscaler.ExternalScaler/StreamIsActive", {}, *this);
      call->Write(request_);
      call->WritesDone();
      while (!has_ended_ && !stopping_) changed_.Wait(mutex_);
      call->Cancel();
      while (!has_ended_) changed_.Wait(mutex_);
      const absl::Time until = absl::Now() + kReopenPause;
      while (!stopping_ && absl::Now() < until) changed_.WaitFor(mutex_, until - absl::Now());
    }
  }

  void OnMessage(std::string bytes) override {
    externalscaler::IsActiveResponse pushed;
    EXPECT_TRUE(pushed.ParseFromString(bytes));
    EXPECT_TRUE(pushed.result()) << "KEDA up to 2.17 acts on `false`";
    MutexLock lock(mutex_);
    ++pushed_;
  }
  void OnEnd(const CallEnd&) override {
    MutexLock lock(mutex_);
    has_ended_ = true;
    changed_.NotifyAll();
  }

  EventLoop loop_;
  Channel channel_;
  const std::string request_;
  mutable Mutex mutex_;
  CondVar changed_;
  int pushed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

KedaLog::KedaLog(const ScalerClientOptions& options, TriggerRef trigger)
    : trigger_(std::move(trigger)) {
  if (!options.tls) watcher_ = std::make_unique<Watcher>(options.address, trigger_);
  auto client = ScalerClient::Open(options);
  EXPECT_TRUE(client.ok()) << client.status();
  if (!client.ok()) return;
  client_ = *std::move(client);
  thread_ = std::thread([this] { Query(); });
}

KedaLog::~KedaLog() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    answered_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void KedaLog::Query() {
  while (true) {
    KedaAnswer answer{.asked = absl::Now(),
                      .at = absl::InfinitePast(),
                      .value = client_->GetMetrics(trigger_, "keda_gpu_metric"),
                      .active = client_->IsActive(trigger_)};
    answer.at = absl::Now();
    MutexLock lock(mutex_);
    answers_.push_back(std::move(answer));
    answered_.NotifyAll();
    const absl::Time next = absl::Now() + kPollInterval;
    while (!stopping_ && absl::Now() < next) answered_.WaitFor(mutex_, next - absl::Now());
    if (stopping_) return;
  }
}

std::vector<KedaAnswer> KedaLog::Since(absl::Time from) const {
  MutexLock lock(mutex_);
  const auto first = std::ranges::lower_bound(answers_, from, {}, &KedaAnswer::at);
  return {first, answers_.end()};
}

absl::Time KedaLog::Settled(double value, absl::Time from, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (absl::Now() < deadline) {
    const std::vector<KedaAnswer> answers = Since(from);
    auto first = answers.end();
    while (first != answers.begin() && IsIt(*std::prev(first), value)) --first;
    if (first != answers.end() && answers.back().at - first->at >= kLongEnough) return first->at;
    MutexLock lock(mutex_);
    answered_.WaitFor(mutex_, deadline - absl::Now());
  }
  return absl::InfiniteFuture();
}

KedaAnswer KedaLog::Next() {
  MutexLock lock(mutex_);
  // The request in flight may have begun earlier.
  for (const size_t enough = answers_.size() + 2; answers_.size() < enough;) answered_.Wait(mutex_);
  return answers_.back();
}

int KedaLog::pushed() const { return watcher_ == nullptr ? 0 : watcher_->pushed(); }

std::string HistoryText(const std::vector<KedaAnswer>& answers) {
  std::vector<std::string> runs;
  for (size_t first = 0; first < answers.size();) {
    size_t end = first;
    const std::string text = TextOf(answers[first]);
    while (end < answers.size() && TextOf(answers[end]) == text) ++end;
    const absl::Time until = end < answers.size() ? answers[end].at : answers.back().at;
    runs.push_back(
        absl::StrFormat("%s for %.1f s", text, absl::ToDoubleSeconds(until - answers[first].at)));
    first = end;
  }
  return absl::StrJoin(runs, ", ");
}

void ReportFault(const std::string& fault, const std::vector<KedaAnswer>& answers,
                 absl::Duration recovery, absl::Duration at_most) {
  EXPECT_LE(recovery, at_most) << fault << ": " << HistoryText(answers);
  absl::PrintF("fault | %s | %s | %.1f s\n", fault, HistoryText(answers),
               absl::ToDoubleSeconds(recovery));
  std::fflush(stdout);
}

}  // namespace gpuscaler
