#include "lab/demo_replica.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// Returns 127.0.0.2 and up.
std::string AddressOf(int number) {
  constexpr int kHosts = 250;
  return absl::StrCat("127.0.", number / kHosts % 256, ".", 2 + number % kHosts);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DemoReplica>> DemoReplica::Start(const DemoReplicaOptions& options,
                                                                const Clock& clock) {
  ASSIGN_OR_RETURN(BoundPort port, BoundPort::Open(AddressOf(options.number), options.port));
  return std::unique_ptr<DemoReplica>(new DemoReplica(options, std::move(port), clock));
}

DemoReplica::DemoReplica(const DemoReplicaOptions& options, BoundPort port, const Clock& clock)
    : options_(options),
      clock_(clock),
      started_at_(clock.Now()),
      bound_(std::move(port)),
      busy_(started_at_) {}

absl::Status DemoReplica::Tick() {
  const bool loaded = clock_.Now() - started_at_ >= options_.load_time;
  if (!loaded || server_ != nullptr || leaving_) return absl::OkStatus();
  ASSIGN_OR_RETURN(server_, EngineServer::Start(options_.engine, *std::move(bound_), clock_));
  busy_ = EngineBusy(clock_.Now());
  return absl::OkStatus();
}

std::string DemoReplica::address() const { return AddressOf(options_.number); }

std::string DemoReplica::Url() const {
  return absl::StrCat("http://", address(), ":", options_.port, "/v1/completions");
}

EngineGauges DemoReplica::Requests() const {
  return server_ == nullptr ? EngineGauges() : server_->Gauges();
}

GpuReport DemoReplica::Gpu() {
  const absl::Time now = clock_.Now();
  if (server_ == nullptr) {
    return LoadingGpu(absl::FDivDuration(now - started_at_, options_.load_time),
                      options_.memory_percent, getpid());
  }
  return {.utilization_percent = busy_.Percent(server_->Totals().busy, now),
          .memory_percent = options_.memory_percent,
          .pid = getpid()};
}

void DemoReplica::Leave() {
  leaving_ = true;
  if (server_ != nullptr) server_->StopAccepting();
}

bool DemoReplica::HasLeft() const {
  return leaving_ && (server_ == nullptr || server_->WaitUntilAnswered(absl::ZeroDuration()));
}

}  // namespace gpuscaler
