#include "keda_log.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "externalscaler.grpc.pb.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kBetweenQuestions = absl::Milliseconds(50);
constexpr absl::Duration kBetweenStreams = absl::Seconds(2);  // KEDA, after OK
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

// Its thread ends with the stream.
class KedaLog::Watcher {
 public:
  Watcher(const ScalerClientOptions& options, TriggerRef trigger)
      : trigger_(std::move(trigger)),
        stub_(externalscaler::ExternalScaler::NewStub(
            grpc::CreateChannel(options.address, grpc::InsecureChannelCredentials()))),
        thread_([this] { Watch(); }) {}
  ~Watcher() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      if (context_ != nullptr) context_->TryCancel();
      changed_.NotifyAll();
    }
    thread_.join();
  }

  int pushed() const {
    MutexLock lock(mutex_);
    return pushed_;
  }

 private:
  void Watch() {
    externalscaler::ScaledObjectRef ref;
    ref.set_name(trigger_.name);
    ref.set_namespace_(trigger_.namespace_name);
    for (const auto& [key, value] : trigger_.metadata) (*ref.mutable_scalermetadata())[key] = value;
    while (grpc::ClientContext* const context = Open()) {
      const auto stream = stub_->StreamIsActive(context, ref);
      for (externalscaler::IsActiveResponse said; stream->Read(&said);) Pushed(said.result());
      stream->Finish().ok();
      Rest();
    }
  }
  grpc::ClientContext* Open() {
    MutexLock lock(mutex_);
    if (stopping_) return nullptr;
    context_ = std::make_unique<grpc::ClientContext>();
    return context_.get();
  }
  void Pushed(bool active) {
    EXPECT_TRUE(active) << "KEDA up to 2.17 acts on `false`";
    MutexLock lock(mutex_);
    ++pushed_;
  }
  void Rest() {
    const absl::Time until = absl::Now() + kBetweenStreams;
    MutexLock lock(mutex_);
    while (!stopping_ && absl::Now() < until) changed_.WaitFor(mutex_, until - absl::Now());
  }

  const TriggerRef trigger_;
  const std::unique_ptr<externalscaler::ExternalScaler::Stub> stub_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  int pushed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

KedaLog::KedaLog(const ScalerClientOptions& options, TriggerRef trigger)
    : trigger_(std::move(trigger)) {
  if (!options.tls) watcher_ = std::make_unique<Watcher>(options, trigger_);
  auto client = ScalerClient::Open(options);
  EXPECT_TRUE(client.ok()) << client.status();
  if (!client.ok()) return;
  client_ = *std::move(client);
  thread_ = std::thread([this] { Ask(); });
}

KedaLog::~KedaLog() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    answered_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void KedaLog::Ask() {
  while (true) {
    KedaAnswer answer{.asked = absl::Now(),
                      .at = absl::InfinitePast(),
                      .value = client_->GetMetrics(trigger_, "keda_gpu_metric"),
                      .active = client_->IsActive(trigger_)};
    answer.at = absl::Now();
    MutexLock lock(mutex_);
    answers_.push_back(std::move(answer));
    answered_.NotifyAll();
    const absl::Time next = absl::Now() + kBetweenQuestions;
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
  // The one that is under way may have begun before.
  for (const size_t enough = answers_.size() + 2; answers_.size() < enough;) answered_.Wait(mutex_);
  return answers_.back();
}

int KedaLog::pushed() const { return watcher_ == nullptr ? 0 : watcher_->pushed(); }

std::string StoryOf(const std::vector<KedaAnswer>& answers) {
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

void TellFault(const std::string& fault, const std::vector<KedaAnswer>& answers,
               absl::Duration recovery, absl::Duration at_most) {
  EXPECT_LE(recovery, at_most) << fault << ": " << StoryOf(answers);
  absl::PrintF("fault | %s | %s | %.1f s\n", fault, StoryOf(answers),
               absl::ToDoubleSeconds(recovery));
  std::fflush(stdout);
}

}  // namespace gpuscaler
