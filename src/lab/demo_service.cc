#include "lab/demo_service.h"

#include <sys/un.h>

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lab/demo_pods.h"
#include "simulate/completion_api.h"

namespace gpuscaler {
namespace {

// A request without an answer for longer is lost.
constexpr absl::Duration kLostAfter = absl::Minutes(10);

EngineServerOptions FastEngine(int speed) {
  EngineServerOptions engine;
  engine.batch = DemoEngine().batch;
  engine.batch.step = engine.batch.step.Faster(speed);
  return engine;
}

absl::Status CheckSocketPath(const std::string& folder) {
  if (folder.size() + sizeof("/pods-api.sock") <= sizeof(sockaddr_un::sun_path)) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat(folder, ": the path is too long for a socket; set TMPDIR to a shorter one"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DemoService>> DemoService::Open(const DemoServiceOptions& options,
                                                               int speed) {
  ASSIGN_OR_RETURN(DemoGpuFile file, DemoGpuFile::Open());
  RETURN_IF_ERROR(CheckSocketPath(file.folder()));
  ASSIGN_OR_RETURN(BoundPort reserved, BoundPort::Open("127.0.0.1", 0));
  const std::string url = absl::StrCat("http://127.0.0.1:", reserved.port(), "/v1/completions");
  const std::string body =
      CompletionBody(url, {.prompt_tokens = static_cast<int>(DemoEngine().request.prompt_tokens),
                           .max_tokens = static_cast<int>(DemoEngine().request.max_tokens)});
  ASSIGN_OR_RETURN(std::unique_ptr<HttpSender> http,
                   OpenCurlSender({.url = url, .body = body, .timeout = kLostAfter}));
  auto service = absl::WrapUnique(
      new DemoService(options, speed, std::move(file), std::move(http), std::move(reserved)));
  RETURN_IF_ERROR(service->Tick());
  return service;
}

DemoService::DemoService(const DemoServiceOptions& options, int speed, DemoGpuFile file,
                         std::unique_ptr<HttpSender> http, BoundPort reserved)
    : options_(options),
      speed_(speed),
      gpu_file_(std::move(file)),
      kubelet_(gpu_file_.folder()),
      gateway_(std::make_unique<DemoGateway>(std::move(http))),
      reserved_(std::move(reserved)),
      counted_at_(clock_.Now()) {
  kubelet_.ServePodsApi(true);
}

bool DemoService::Free(int gpu) const {
  const auto has_it = [gpu](const auto& replica) { return replica->gpu() == gpu; };
  return std::ranges::none_of(replicas_, has_it) && std::ranges::none_of(ending_, has_it);
}

absl::Status DemoService::Add(int gpu) {
  ASSIGN_OR_RETURN(auto replica,
                   DemoReplica::Start({.number = started_,
                                       .gpu = gpu,
                                       .port = port(),
                                       .engine = FastEngine(speed_),
                                       .load_time = options_.start_time / speed_,
                                       .memory_percent = options_.preallocated_percent},
                                      clock_));
  ++started_;
  replicas_.push_back(std::move(replica));
  return absl::OkStatus();
}

absl::Status DemoService::Scale(int replicas) {
  while (this->replicas() > replicas) {
    ending_.push_back(std::move(replicas_.back()));
    replicas_.pop_back();
    SetReadyEngines();
    ending_.back()->Leave();
  }
  for (int gpu = 0; gpu < options_.gpus && this->replicas() < replicas; ++gpu) {
    if (Free(gpu)) RETURN_IF_ERROR(Add(gpu));
  }
  PublishPods();
  most_replicas_ = std::max(most_replicas_, this->replicas());
  return absl::OkStatus();
}

absl::Status DemoService::Tick() {
  const absl::Time now = clock_.Now();
  const auto held_gpus = static_cast<double>(replicas_.size() + ending_.size());
  gpu_time_ += held_gpus * speed_ * (now - std::exchange(counted_at_, now));
  for (const auto& replica : replicas_) RETURN_IF_ERROR(replica->Tick());
  std::erase_if(ending_, [](const auto& replica) { return replica->HasLeft(); });
  SetReadyEngines();
  PublishAddresses();
  RETURN_IF_ERROR(WriteGpus());
  PublishPods();
  return absl::OkStatus();
}

void DemoService::SetReadyEngines() {
  std::vector<std::string> urls;
  for (const auto& replica : replicas_) {
    if (replica->ready()) urls.push_back(replica->Url());
  }
  gateway_->SetReady(urls);
}

// Only Tick() calls this, so DNS lists a replica that ends for a tick longer, as CoreDNS does for
// its TTL. By then the scaler has read from the kubelet that the pod terminates.
void DemoService::PublishAddresses() {
  std::vector<std::string> addresses;
  for (const auto& replica : replicas_) {
    if (replica->ready()) addresses.push_back(replica->address());
  }
  addresses_->Set(std::move(addresses));
}

// A pod is listed before its process is on the GPU, and until the process has left it, as on a
// node: Scale() adds pods, and Tick() removes them once the GPUs are written.
void DemoService::PublishPods() {
  std::vector<FakeKubelet::Pod> pods = {DemoGatewayPod()};
  for (const auto* replicas : {&replicas_, &ending_}) {
    for (const auto& replica : *replicas) pods.push_back(DemoReplicaPod(*replica));
  }
  kubelet_.SetPods(std::move(pods));
}

absl::Status DemoService::WriteGpus() {
  gpus_.assign(static_cast<size_t>(options_.gpus), GpuReport());
  for (const auto* replicas : {&replicas_, &ending_}) {
    for (const auto& replica : *replicas) {
      gpus_[static_cast<size_t>(replica->gpu())] = replica->Gpu();
    }
  }
  std::string text;
  for (int gpu = 0; gpu < options_.gpus; ++gpu) {
    ASSIGN_OR_RETURN(text, WithGpuReport(text, gpu, gpus_[static_cast<size_t>(gpu)]));
  }
  return gpu_file_.Write(text);
}

bool DemoService::empty() const { return replicas_.empty() && ending_.empty(); }

int DemoService::ready() const {
  return static_cast<int>(
      std::ranges::count_if(replicas_, [](const auto& replica) { return replica->ready(); }));
}

EngineGauges DemoService::Requests() const {
  EngineGauges all{.waiting = gateway_->held()};
  for (const auto* replicas : {&replicas_, &ending_}) {
    for (const auto& replica : *replicas) {
      const EngineGauges requests = replica->Requests();
      all.running += requests.running;
      all.waiting += requests.waiting;
    }
  }
  return all;
}

}  // namespace gpuscaler
