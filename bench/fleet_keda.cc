// The requests of a KEDA operator and of the HPAs through it, for the workloads of the simulated
// fleet. All use the one channel that KEDA has for an address.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "externalscaler.grpc.pb.h"
#include "simulated_fleet.h"

namespace gpuscaler {
namespace {

using externalscaler::ExternalScaler;
using externalscaler::GetMetricSpecResponse;
using externalscaler::GetMetricsRequest;
using externalscaler::GetMetricsResponse;
using externalscaler::IsActiveResponse;
using Clock = std::chrono::steady_clock;

// The HPA's sync and KEDA's pollingInterval, each by default.
constexpr Clock::duration kHpaInterval = std::chrono::seconds(15);
constexpr Clock::duration kPollInterval = std::chrono::seconds(30);

// KEDA has no deadline; every answer is due within 2 s.
constexpr std::chrono::seconds kLongestAnswer(5);

// KEDA's pause before it reopens a stream; after errors it doubles up to a minute.
constexpr Clock::duration kReopen = std::chrono::seconds(2);
constexpr Clock::duration kLongestReopen = std::chrono::seconds(60);

int64_t Nanoseconds(Clock::time_point at) {
  return std::chrono::nanoseconds(at.time_since_epoch()).count();
}

// Prints a whole line to standard output.
void PrintLine(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::cout << line << std::endl;
}

// Half of the ScaledObjects, in each namespace and of each kind, do not name their workload: the
// default is the workload with the ScaledObject's name.
bool NamesItsWorkload(int workload) { return (workload + workload / 10) % 2 == 0; }

externalscaler::ScaledObjectRef RefOf(int workload) {
  externalscaler::ScaledObjectRef ref;
  ref.set_name(WorkloadName(workload));
  ref.set_namespace_(NamespaceOf(workload));
  auto& metadata = *ref.mutable_scalermetadata();
  metadata["scalerAddress"] = "keda-gpu-scaler.keda:6000";
  if (NamesItsWorkload(workload)) metadata["workload"] = WorkloadName(workload);
  if (Alternates(workload)) {
    metadata["window"] = "0s";
    metadata["activationWindow"] = "1s";  // one interval
  } else {
    metadata["profile"] = "vllm-inference";
  }
  return ref;
}

// Runs tasks at their times, on the thread that calls Run(). Thread-safe.
class TaskQueue {
 public:
  void At(Clock::time_point due, std::function<void()> task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push({due, std::move(task)});
    added_.notify_one();
  }

  [[noreturn]] void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      if (tasks_.empty()) {
        added_.wait(lock);
      } else if (const Clock::time_point due = tasks_.top().due; due > Clock::now()) {
        added_.wait_until(lock, due);
      } else {
        const std::function<void()> task = tasks_.top().task;
        tasks_.pop();
        lock.unlock();
        task();
        lock.lock();
      }
    }
  }

 private:
  struct Task {
    Clock::time_point due;
    std::function<void()> task;
    bool operator<(const Task& other) const { return due > other.due; }
  };
  std::mutex mutex_;
  std::condition_variable added_;
  std::priority_queue<Task> tasks_;
};

// KEDA's requests in each poll: GetMetricSpec, then GetMetrics and IsActive.
class Poll : public std::enable_shared_from_this<Poll> {
 public:
  Poll(ExternalScaler::Stub& stub, int workload) : stub_(stub), ref_(RefOf(workload)) {}

  void Begin() {
    spec_context_.set_deadline(std::chrono::system_clock::now() + kLongestAnswer);
    requested_at_ = Clock::now();
    stub_.async()->GetMetricSpec(&spec_context_, &ref_, &spec_,
                                 [self = shared_from_this()](const grpc::Status& status) {
                                   self->Answered("GetMetricSpec", status);
                                   if (status.ok()) self->AskGetMetrics();
                                 });
  }

 private:
  void AskGetMetrics() {
    *request_.mutable_scaledobjectref() = ref_;
    request_.set_metricname("keda_gpu_metric");
    metrics_context_.set_deadline(std::chrono::system_clock::now() + kLongestAnswer);
    requested_at_ = Clock::now();
    stub_.async()->GetMetrics(&metrics_context_, &request_, &metrics_,
                              [self = shared_from_this()](const grpc::Status& status) {
                                self->Answered("GetMetrics", status);
                                if (status.ok()) self->AskIsActive();
                              });
  }

  void AskIsActive() {
    active_context_.set_deadline(std::chrono::system_clock::now() + kLongestAnswer);
    requested_at_ = Clock::now();
    stub_.async()->IsActive(&active_context_, &ref_, &active_,
                            [self = shared_from_this()](const grpc::Status& status) {
                              self->Answered("IsActive", status);
                            });
  }

  void Answered(const char* method, const grpc::Status& status) {
    const Clock::time_point now = Clock::now();
    PrintLine(absl::StrCat("call ", method, " ", Nanoseconds(requested_at_), " ",
                           std::chrono::nanoseconds(now - requested_at_).count(), " ",
                           status.error_code()));
  }

  ExternalScaler::Stub& stub_;
  const externalscaler::ScaledObjectRef ref_;
  GetMetricSpecResponse spec_;
  GetMetricsRequest request_;
  GetMetricsResponse metrics_;
  IsActiveResponse active_;
  grpc::ClientContext spec_context_;
  grpc::ClientContext metrics_context_;
  grpc::ClientContext active_context_;
  Clock::time_point requested_at_;
};

// A push scaler's stream, reopened whenever it ends.
class Push {
 public:
  Push(ExternalScaler::Stub& stub, int workload, TaskQueue& tasks)
      : stub_(stub), name_(WorkloadName(workload)), ref_(RefOf(workload)), tasks_(tasks) {}

  void Open() { call_ = std::make_unique<Call>(*this); }

 private:
  class Call : public grpc::ClientReadReactor<IsActiveResponse> {
   public:
    explicit Call(Push& push) : push_(push) {
      push_.stub_.async()->StreamIsActive(&context_, &push_.ref_, this);
      StartRead(&response_);
      StartCall();
    }
    void OnReadDone(bool ok) override {
      if (!ok) return;
      PrintLine(absl::StrCat("pushed ", push_.name_, " ", response_.result() ? 1 : 0, " ",
                             Nanoseconds(Clock::now())));
      push_.pause_ = kReopen;
      StartRead(&response_);
    }
    void OnDone(const grpc::Status& status) override { push_.Ended(status); }

   private:
    Push& push_;
    grpc::ClientContext context_;
    IsActiveResponse response_;
  };

  void Ended(const grpc::Status& status) {
    if (status.ok()) pause_ = kReopen;
    tasks_.At(Clock::now() + pause_, [this] { Open(); });
    pause_ = std::min(2 * pause_, kLongestReopen);
  }

  ExternalScaler::Stub& stub_;
  const std::string name_;
  const externalscaler::ScaledObjectRef ref_;
  TaskQueue& tasks_;
  Clock::duration pause_ = kReopen;
  std::unique_ptr<Call> call_;
};

void PollFor(TaskQueue& tasks, ExternalScaler::Stub& stub, int workload, Clock::time_point due,
             Clock::duration interval) {
  tasks.At(due, [&tasks, &stub, workload, due, interval] {
    std::make_shared<Poll>(stub, workload)->Begin();
    PollFor(tasks, stub, workload, due + interval, interval);
  });
}

void Run(const std::string& address, bool all_push) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  ExternalScaler::Stub stub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  TaskQueue tasks;
  std::vector<std::unique_ptr<Push>> pushes;
  const Clock::time_point began = Clock::now();
  for (int workload = 0; workload < kWorkloads; ++workload) {
    // Spread evenly, in a different order for each of the two.
    PollFor(tasks, stub, workload, began + kHpaInterval * workload / kWorkloads, kHpaInterval);
    PollFor(tasks, stub, workload, began + kPollInterval * (workload * 7 % kWorkloads) / kWorkloads,
            kPollInterval);
    if (!all_push && !Alternates(workload)) continue;
    pushes.push_back(std::make_unique<Push>(stub, workload, tasks));
    pushes.back()->Open();
  }
  tasks.Run();
}

}  // namespace
}  // namespace gpuscaler

// Prints "call METHOD ASKED_NS TOOK_NS CODE" and "pushed WORKLOAD 0|1 NS", by CLOCK_MONOTONIC. Ends
// at the end of standard input.
int main(int argc, char** argv) {
  const std::string streams = argc == 3 ? argv[2] : "";
  if (streams != "all" && streams != "edges") {
    std::cerr << "usage: fleet_keda ADDRESS all|edges\n";
    return 2;
  }
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // a tenth of a call's CPU
  std::thread([] {
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    std::_Exit(0);
  }).detach();
  gpuscaler::Run(argv[1], streams == "all");
}
