#include "lab/demo.h"

#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "app/version.h"
#include "base/duration_text.h"
#include "base/status_macros.h"
#include "lab/demo_load.h"
#include "lab/demo_screen.h"
#include "lab/demo_triggers.h"
#include "lab/scaler_path.h"
#include "trigger/profile.h"

namespace gpuscaler {
namespace {

// Simulated time between two samples of the GPUs. At least 10 ms of real time: polling faster would
// take all of the server's CPU time.
constexpr absl::Duration kSimulatedTick = absl::Seconds(5);
constexpr absl::Duration kShortestTick = absl::Milliseconds(10);

// A reading on a busy machine may take half a second of real time before it is stale and KEDA
// holds.
constexpr absl::Duration kSlowestReading = absl::Milliseconds(500);

// Simulated time after the load for the rest of the queue, the activation window and the cooldown.
constexpr absl::Duration kWindDown = absl::Minutes(9);
// The demo fails if replicas do not return to zero within these times, on the clock and in real
// time.
constexpr absl::Duration kSimulatedStaleness = absl::Minutes(60);
constexpr absl::Duration kRealStaleness = absl::Minutes(1);

absl::Duration TickOf(int speed) { return std::max(kSimulatedTick / speed, kShortestTick); }

}  // namespace

Demo::Demo(const DemoOptions& options, StopRequested stopped)
    : options_(options), stopped_(std::move(stopped)), clock_(options.speed) {
  scenario_.service.gpus = options.max_replicas;
  scenario_.load.peak = DemoPeak(options.max_replicas);
  scenario_.scaled_object.max_replica_count = options.max_replicas;
}

// Returns true if the demo must stop, or if standard output is closed.
bool Demo::Stopping() const { return stopped_(TickOf(options_.speed)) || !std::cout; }

// Host names resolve to the Services of the demo's cluster.
absl::StatusOr<std::unique_ptr<RunningRole>> Demo::StartServer() const {
  const absl::Duration tick = TickOf(options_.speed);
  Config config;
  config.bind_address = "127.0.0.1";
  config.port = options_.port == 0 ? kAnyPort : options_.port;
  config.metrics_port = 0;
  config.probe_port = 0;
  config.web_port = options_.web_port == 0 ? kAnyPort : options_.web_port;
  config.prices = options_.prices;
  config.currency = options_.currency;
  config.commit = std::string(CommitOfBuild().hash);
  config.attribution = AttributionMode::kKubelet;
  config.pod_resources_socket = service_->kubelet().pod_resources_socket();
  config.pods_api_socket = service_->kubelet().pods_api_socket();
  config.discover_engines = DiscoverEngines::kFalse;  // a trigger on engines names theirs
  config.gpu_source = absl::StrCat("file:", service_->gpu_file());
  config.node_name = "demo";
  config.poll_interval = config.engine_interval = config.queue_interval = tick;
  config.allow_endpoints = "127.0.0.0/8";
  config.stale_after = std::max(6 * kSimulatedTick, kSlowestReading * options_.speed);
  const auto resolver = [engines = service_->addresses()](const std::string& name) {
    const bool is_gateway = absl::StartsWith(name, "gateway.");
    return ResolvedName{
        .addresses = is_gateway ? std::vector<std::string>{"127.0.0.1"} : engines->Get(),
        .canonical_name = name};
  };
  return RunningRole::Start(config, clock_,
                            {.addresses = {.interval = tick, .retry = tick, .resolver = resolver},
                             .clock_speed = static_cast<double>(options_.speed)});
}

absl::Status Demo::Serve() {
  ASSIGN_OR_RETURN(service_, DemoService::Open(scenario_.service, options_.speed));
  DemoGateway& gateway = service_->gateway();
  ASSIGN_OR_RETURN(
      gateway_page_,
      HttpServer::Start(
          {.bind_address = "127.0.0.1"},
          {{"/metrics", [&gateway] { return HttpReply{.body = gateway.MetricsEndpoint()}; }}}));
  ASSIGN_OR_RETURN(by_profile_, DemoTrigger(options_.profile, service_->port(), DemoEngine()));
  ASSIGN_OR_RETURN(trigger_, ParseTrigger(by_profile_.metadata, BuiltInProfiles()));
  by_demand_ = DemandTrigger(gateway_page_->port());
  ASSIGN_OR_RETURN(server_, StartServer());
  address_ = absl::StrCat("127.0.0.1:", server_->grpc_port());
  ASSIGN_OR_RETURN(client_, ScalerClient::Open({.address = address_}));
  for (const TriggerRef& each : {by_profile_, by_demand_}) {
    ASSIGN_OR_RETURN(KedaTrigger trigger, RemoteTrigger(*client_, each));
    triggers_.push_back(std::move(trigger));
  }
  return absl::OkStatus();
}

absl::Status Demo::Tick(Keda& keda) {
  RETURN_IF_ERROR(service_->Tick());
  desired_ = keda.Step(clock_.Now(), desired_, service_->ready());
  return service_->Scale(desired_);
}

absl::StatusOr<bool> Demo::RunLoad() {
  const bool back_to_zero = ExpectationOf(trigger_).back_to_zero;
  const absl::Duration timeout = std::max(kSimulatedStaleness, kRealStaleness * options_.speed);
  const absl::Duration end = scenario_.load.End() + (back_to_zero ? timeout : kWindDown);
  Keda keda(scenario_.scaled_object, triggers_);
  DemoScreen screen(Setting());
  began_at_ = clock_.Now();
  observed_ = {.began_at_zero = true, .speed = options_.speed};
  DemoLoad load(scenario_.load, options_.speed, service_->gateway());
  while (passed() < end && !(load.done() && service_->empty())) {
    if (Stopping()) return false;
    RETURN_IF_ERROR(Tick(keda));
    screen.Show(FrameOf(keda));
    if (passed() < scenario_.load.quiet) observed_.began_at_zero &= desired_ == 0;
    observed_.most_ready = std::max(observed_.most_ready, service_->ready());
    observed_.last = desired_;
  }
  screen.Finish();
  duration_ = passed();
  tally_ = load.Stop();
  observed_.sent = tally_.sent;
  observed_.late = tally_.late;
  return true;
}

DemoFrame Demo::FrameOf(const Keda& keda) const {
  DemoFrame frame{.passed = passed(), .requests_per_second = scenario_.load.RateAt(passed())};
  const EngineGauges requests = service_->Requests();
  frame.running = requests.running;
  frame.waiting = requests.waiting;
  for (const GpuReport& gpu : service_->gpus()) {
    frame.utilization_percent.push_back(gpu.utilization_percent);
    frame.memory_percent.push_back(gpu.memory_percent);
  }
  const Keda::Answer& answer = keda.answer(0);
  if (answer.value.ok()) {
    frame.value = *answer.value;
  } else {
    frame.note = std::string(answer.value.status().message());
  }
  frame.active = answer.active;
  frame.desired = desired_;
  frame.ready = service_->ready();
  if (const auto why = client_->Explain(by_profile_); why.ok()) {
    // Without a replica the notes are about endpoints and metrics that nothing serves.
    const bool has_note = why->notes_size() > 0 && (frame.ready > 0 || why->code() != 0);
    frame.note = has_note ? why->notes(0) : why->active_because();
  }
  return frame;
}

DemoSetting Demo::Setting() const {
  return {.profile = options_.profile,
          .unit = std::string(InfoOf(trigger_.metric).unit),
          .target = trigger_.target,
          .max_replicas = options_.max_replicas,
          .speed = options_.speed,
          .expected = scenario_.load.End() + kWindDown};
}

std::string Demo::WebUrl() const { return absl::StrCat("http://127.0.0.1:", server_->web_port()); }

void Demo::PrintIntroduction() const {
  std::cout
      << "An inference service: simulated engines on simulated GPUs, behind a small gateway,\n"
         "under an open loop of requests. The real server on "
      << address_ << " and a\nmodel of KEDA and the HPA scale it, 0 to " << options_.max_replicas
      << " replicas, on a clock that goes\n"
      << options_.speed << " times as fast. The triggers of its ScaledObject:\n\n"
      << TriggerYaml(by_profile_, address_) << TriggerYaml(by_demand_, address_)
      << "\nThe first sets the number. Without replicas it has no GPU and no engine to read: the\n"
         "second wakes the first one. While it runs, query it from another terminal:\n\n  "
      << ScalerPath() << " " << QueryArguments(by_profile_, address_) << "\n\nor see it on "
      << WebUrl() << "\n"
      << std::endl;
}

// Measured in real time; returns simulated time.
ScalingCost Demo::MeasuredCost() const {
  return {.name = "this scaler",
          .gpu_seconds = absl::ToDoubleSeconds(service_->gpu_time()),
          .served = tally_.answered,
          .unserved = tally_.due - tally_.answered,
          .mean_latency = tally_.latency.mean() * options_.speed,
          .longest_latency = tally_.latency.max() * options_.speed,
          .most_replicas = service_->most_replicas(),
          .replicas = desired_};
}

absl::Status Demo::ReportResult() const {
  const ScalingCost ours = MeasuredCost();
  std::cout << "\nThe same load, " << DurationText(absl::Trunc(duration_, absl::Seconds(1)))
            << ", one GPU a replica. The first line is measured, the others\n"
               "are simulations of such engines:\n\n"
            << CostTable({ours, CostOfStatic(scenario_, ours.most_replicas, duration_),
                          CostOfGoScaler(scenario_, duration_)})
            << "\n";
  const DemoExpectation expectation = ExpectationOf(trigger_);
  RETURN_IF_ERROR(CheckObservation(expectation, observed_));
  std::cout << "Replicas went " << (observed_.began_at_zero ? 0 : 1) << " -> "
            << observed_.most_ready << " -> " << observed_.last
            << (expectation.because.empty() ? "" : ": ") << expectation.because << "." << std::endl;
  return absl::OkStatus();
}

absl::Status Demo::KeepServing() {
  const std::string scaler = ScalerPath();
  std::cout << "\nServing on, under a steady load; Ctrl-C ends it.\n  " << WebUrl() << "\n  "
            << scaler << " top --server " << WebUrl() << "\n  " << scaler << " explain "
            << kDemoNamespace << "/" << kDemoName << " --since 1h --server " << WebUrl() << "\n  "
            << scaler << " " << QueryArguments(by_profile_, address_) << " --replicas=" << desired_
            << " --explain" << std::endl;
  const LoadShape steady = {.quiet = absl::ZeroDuration(),
                            .rise = absl::Seconds(1),
                            .hold = absl::InfiniteDuration(),
                            .peak = scenario_.load.peak / 4};
  Keda keda(scenario_.scaled_object, triggers_);
  const DemoLoad load(steady, options_.speed, service_->gateway(), tally_.sent);
  while (!Stopping()) RETURN_IF_ERROR(Tick(keda));
  return absl::OkStatus();
}

absl::StatusOr<DemoResult> Demo::Run() {
  RETURN_IF_ERROR(Serve());
  PrintIntroduction();
  ASSIGN_OR_RETURN(const bool finished, RunLoad());
  if (finished) return DemoResult{.outcome = ReportResult()};
  std::cout << "\nStopped before the load had ended." << std::endl;
  return DemoResult{.stopped = true};
}

}  // namespace gpuscaler
