#include "app/demo.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/demo_chart.h"
#include "app/demo_load.h"
#include "app/demo_scaler.h"
#include "app/demo_screen.h"
#include "app/demo_service.h"
#include "app/demo_triggers.h"
#include "app/demo_verdict.h"
#include "app/open_files_limit.h"
#include "app/standalone.h"
#include "app/termination.h"
#include "base/clock.h"
#include "base/duration_text.h"
#include "base/status_macros.h"
#include "scaling/profile.h"
#include "serve/http_server.h"
#include "serve/scaler_client.h"
#include "simulate/fleet.h"
#include "simulate/report.h"

namespace gpuscaler {
namespace {

// How far the clock goes between two looks at the GPUs. At least 10 ms of real time: a server that
// polls faster is busy with nothing else.
constexpr absl::Duration kSimulatedTick = absl::Seconds(5);
constexpr absl::Duration kShortestTick = absl::Milliseconds(10);

// What a busy machine may take for a reading: half a second, else KEDA holds.
constexpr absl::Duration kHiccup = absl::Milliseconds(500);

// After the load: the rest of the queue, activation window, cooldown.
constexpr absl::Duration kWindDown = absl::Minutes(9);
// Until it has failed: on the clock, and in real time.
constexpr absl::Duration kSimulatedPatience = absl::Minutes(60);
constexpr absl::Duration kRealPatience = absl::Minutes(1);

absl::Duration TickOf(int speed) { return std::max(kSimulatedTick / speed, kShortestTick); }

Config ServerConfig(const DemoOptions& options, const std::string& gpu_file) {
  Config config;
  config.bind_address = "127.0.0.1";
  config.port = options.port == 0 ? kAnyPort : options.port;
  config.metrics_port = 0;
  config.probe_port = 0;
  config.attribution = AttributionMode::kNone;
  config.gpu_source = absl::StrCat("file:", gpu_file);
  config.node_name = "demo";
  config.poll_interval = TickOf(options.speed);
  config.engine_interval = TickOf(options.speed);
  config.queue_interval = TickOf(options.speed);
  config.allow_endpoints = "127.0.0.0/8";
  config.stale_after = std::max(6 * kSimulatedTick, kHiccup * options.speed);
  return config;
}

class Demo {
 public:
  explicit Demo(const DemoOptions& options) : options_(options), clock_(options.speed) {
    scenario_.service.gpus = options.max_replicas;
    scenario_.scaled_object.max_replica_count = options.max_replicas;
  }

  absl::StatusOr<int> Run();

 private:
  absl::Status Serve();
  DemandSurroundings Surroundings() const;
  absl::Status Tick(Keda& keda);
  // By a signal, or because nobody can see it any more.
  bool Stopped() const { return signals_.WaitFor(TickOf(options_.speed)) != 0 || !std::cout; }
  absl::StatusOr<bool> RunLoad();  // false: told to stop
  absl::Status KeepServing();
  absl::Duration passed() const { return clock_.Now() - began_at_; }
  DemoFrame FrameOf(const Keda& keda) const;
  DemoSetting Setting() const;
  void Introduce() const;
  ScenarioResult Ours() const;
  int Conclude() const;

  const TerminationSignals signals_;  // before any thread
  const DemoOptions options_;
  const SteadyClock clock_;
  Scenario scenario_;
  TriggerRef by_profile_;
  TriggerRef by_demand_;
  Trigger trigger_;  // of by_profile_
  std::unique_ptr<DemoService> service_;
  std::unique_ptr<HttpServer> gateway_page_;
  std::unique_ptr<Standalone> server_;
  std::string address_;
  std::unique_ptr<ScalerClient> client_;
  RemoteTriggers triggers_;
  absl::Time began_at_;
  int desired_ = 0;  // spec.replicas
  LoadTally tally_;  // in real time
  absl::Duration took_;
  DemoCourse course_;
};

// The Services of the demo's cluster.
DemandSurroundings Demo::Surroundings() const {
  const auto resolver = [engines = service_->addresses()](const std::string& name) {
    return absl::StartsWith(name, "gateway.") ? std::vector<std::string>{"127.0.0.1"}
                                              : engines->Get();
  };
  const absl::Duration tick = TickOf(options_.speed);
  return {.addresses = {.interval = tick, .retry = tick, .resolver = resolver},
          .clock_speed = static_cast<double>(options_.speed)};
}

absl::Status Demo::Serve() {
  ASSIGN_OR_RETURN(service_, DemoService::Open(scenario_.service, options_.speed));
  DemoGateway& gateway = service_->gateway();
  ASSIGN_OR_RETURN(
      gateway_page_,
      HttpServer::Start(
          {.bind_address = "127.0.0.1"},
          {{"/metrics", [&gateway] { return HttpReply{.body = gateway.MetricsPage()}; }}}));
  ASSIGN_OR_RETURN(by_profile_,
                   DemoTrigger(options_.profile, service_->port(), scenario_.service.batch_limit));
  ASSIGN_OR_RETURN(trigger_, ParseTrigger(by_profile_.metadata, BuiltInProfiles()));
  by_demand_ = DemandTrigger(gateway_page_->port());
  ASSIGN_OR_RETURN(server_, Standalone::Start(ServerConfig(options_, service_->gpu_file()), clock_,
                                              Surroundings()));
  address_ = absl::StrCat("127.0.0.1:", server_->grpc_port());
  ASSIGN_OR_RETURN(client_, ScalerClient::Open({.address = address_}));
  RETURN_IF_ERROR(triggers_.Add(*client_, by_profile_));
  return triggers_.Add(*client_, by_demand_);
}

absl::Status Demo::Tick(Keda& keda) {
  RETURN_IF_ERROR(service_->Tick());
  desired_ = keda.Step(clock_.Now(), desired_, service_->ready());
  return service_->Scale(desired_);
}

absl::StatusOr<bool> Demo::RunLoad() {
  const bool back_to_zero = ExpectationOf(trigger_).back_to_zero;
  const absl::Duration patience = std::max(kSimulatedPatience, kRealPatience * options_.speed);
  const absl::Duration end = scenario_.load.End() + (back_to_zero ? patience : kWindDown);
  Keda keda(scenario_.scaled_object, triggers_.keda());
  DemoScreen screen(Setting());
  began_at_ = clock_.Now();
  course_.began_at_zero = true;
  DemoLoad load(scenario_.load, options_.speed, service_->gateway());
  while (passed() < end && !(load.done() && service_->empty())) {
    if (Stopped()) return false;
    RETURN_IF_ERROR(Tick(keda));
    screen.Show(FrameOf(keda));
    if (passed() < scenario_.load.quiet) course_.began_at_zero &= desired_ == 0;
    course_.most_ready = std::max(course_.most_ready, service_->ready());
    course_.last = desired_;
  }
  screen.Finish();
  took_ = passed();
  tally_ = load.Stop();
  return true;
}

DemoFrame Demo::FrameOf(const Keda& keda) const {
  DemoFrame frame{.passed = passed(), .requests_per_second = scenario_.load.RateAt(passed())};
  const EngineGauges requests = service_->Requests();
  frame.running = requests.running;
  frame.waiting = requests.waiting;
  for (const GpuShown& gpu : service_->gpus()) {
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
    frame.note = why->notes_size() > 0 ? why->notes(0) : why->active_because();
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

void Demo::Introduce() const {
  std::cout
      << "An inference service: stand-in engines on simulated GPUs, behind a small gateway,\n"
         "under an open loop of requests. The real server on "
      << address_ << " and a\nmodel of KEDA and the HPA scale it, 0 to " << options_.max_replicas
      << " replicas, on a clock that goes\n"
      << options_.speed << " times as fast. The triggers of its ScaledObject:\n\n"
      << TriggerYaml(by_profile_, address_) << TriggerYaml(by_demand_, address_)
      << "\nThe first says how many. Without replicas it has no GPU and no engine to see: the\n"
         "second wakes the first one. Ask it yourself:\n\n  "
      << QueryLine(by_profile_, address_) << "\n"
      << std::endl;
}

// As its simulation would be told.
ScenarioResult Demo::Ours() const {
  const absl::Duration request = scenario_.service.request_time;
  const absl::Duration waited = tally_.latency.mean() * options_.speed - request;
  const absl::Duration longest = tally_.latency.max() * options_.speed - request;
  ScenarioResult ours{.name = "this scaler",
                      .replicas = desired_,
                      .waiting = static_cast<int>(tally_.due - tally_.answered)};
  ours.totals.gpu_seconds = absl::ToDoubleSeconds(service_->gpu_time());
  ours.totals.arrived = tally_.due;
  ours.totals.begun = tally_.answered;
  ours.totals.served = tally_.answered;
  ours.totals.waited = waited * tally_.answered;
  ours.totals.longest_wait = longest;
  ours.totals.most_replicas = service_->most_replicas();
  return ours;
}

int Demo::Conclude() const {
  const ScenarioResult ours = Ours();
  std::cout << "\nThe same load, " << DurationText(absl::Trunc(took_, absl::Seconds(1)))
            << ", one GPU a replica. The first line is measured, the others\n"
               "are simulations of such engines:\n\n"
            << CostTable({ours, RunStatic(scenario_, ours.totals.most_replicas, took_),
                          RunReference(scenario_, took_)})
            << "\n";
  const DemoExpectation expectation = ExpectationOf(trigger_);
  const absl::Status verdict = CheckCourse(expectation, course_);
  if (!verdict.ok()) return Fail("demo", verdict, kExitFindings);
  std::cout << "Replicas went " << (course_.began_at_zero ? 0 : 1) << " -> " << course_.most_ready
            << " -> " << course_.last << (expectation.because.empty() ? "" : ": ")
            << expectation.because << "." << std::endl;
  return kExitOk;
}

absl::Status Demo::KeepServing() {
  std::cout << "\nServing on, under a steady load; Ctrl-C ends it.\n  "
            << QueryLine(by_profile_, address_) << " --explain" << std::endl;
  const LoadShape steady = {.quiet = absl::ZeroDuration(),
                            .rise = absl::Seconds(1),
                            .hold = absl::InfiniteDuration(),
                            .peak = scenario_.load.peak / 4};
  Keda keda(scenario_.scaled_object, triggers_.keda());
  const DemoLoad load(steady, options_.speed, service_->gateway(), tally_.sent);
  while (!Stopped()) RETURN_IF_ERROR(Tick(keda));
  return absl::OkStatus();
}

absl::StatusOr<int> Demo::Run() {
  RETURN_IF_ERROR(Serve());
  Introduce();
  ASSIGN_OR_RETURN(const bool finished, RunLoad());
  if (!finished) {
    std::cout << "\nStopped before the load had ended." << std::endl;
    return std::cout ? kExitFindings : kExitOk;  // main tells of output that failed
  }
  const int code = Conclude();
  if (options_.serve) RETURN_IF_ERROR(KeepServing());
  return code;
}

}  // namespace

int RunDemo(const DemoOptions& options) {
  StartLogging(LogLevel::kError, LogFormat::kText);  // the chart is what is to be seen
  RaiseOpenFilesLimit();
  Demo demo(options);
  const absl::StatusOr<int> code = demo.Run();
  return code.ok() ? *code
                   : Fail("demo", code.status(), ExitCodeOf(code.status(), kExitCannotServe));
}

}  // namespace gpuscaler
