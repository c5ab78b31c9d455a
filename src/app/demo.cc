#include "app/demo.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/demo_chart.h"
#include "app/demo_gpu_file.h"
#include "app/demo_scaler.h"
#include "app/demo_screen.h"
#include "app/demo_verdict.h"
#include "app/standalone.h"
#include "app/termination.h"
#include "base/clock.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "base/status_macros.h"
#include "scaling/profile.h"
#include "serve/scaler_client.h"
#include "simulate/fleet.h"
#include "simulate/report.h"
#include "simulate/scalers.h"

namespace gpuscaler {
namespace {

// How far simulated time moves between two looks at the GPUs. At least 10 ms of real time: a
// server that polls faster is busy with nothing else.
constexpr absl::Duration kSimulatedTick = absl::Seconds(5);
constexpr absl::Duration kShortestTick = absl::Milliseconds(10);

// What a busy machine may take for a reading: half a second, else KEDA holds.
constexpr absl::Duration kHiccup = absl::Milliseconds(500);

// After the load: the rest of the queue, activation window, cooldown.
constexpr absl::Duration kWindDown = absl::Minutes(9);
constexpr absl::Duration kPatience = absl::Minutes(60);  // until it has failed

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
  config.stale_after = std::max(6 * kSimulatedTick, kHiccup * options.speed);
  return config;
}

TriggerRef TriggerOf(const std::string& profile) {
  return {.name = "llm", .namespace_name = "default", .metadata = {{"profile", profile}}};
}

// KEDA's view of the service: our server, and a demand signal that sees what GPUs cannot show.
class DemoTriggers {
 public:
  DemoTriggers(const ScalerClient& client, TriggerRef trigger, const MetricSpec& spec)
      : remote_(client, std::move(trigger), spec.metric_name), target_(spec.target) {}

  std::vector<KedaTrigger> Of(const InferenceService& service) {
    demand_ = std::make_unique<DemandScaler>(service);
    return {{&remote_, target_}, {demand_.get()}};
  }

 private:
  RemoteScaler remote_;
  const double target_;
  std::unique_ptr<DemandScaler> demand_;
};

class Demo {
 public:
  Demo(const DemoOptions& options, Trigger trigger)
      : options_(options), trigger_(std::move(trigger)), clock_(options.speed) {
    scenario_.service.gpus = options.max_replicas;
    scenario_.scaled_object.max_replica_count = options.max_replicas;
  }

  absl::StatusOr<int> Run();

 private:
  absl::Status Serve();
  std::unique_ptr<Fleet> StartFleet(const Scenario& scenario, int replicas);
  absl::Status Tick(Fleet& fleet);
  // By a signal, or because nobody can see it any more.
  bool Stopped() const { return signals_.WaitFor(TickOf(options_.speed)) != 0 || !std::cout; }
  absl::StatusOr<bool> RunLoad(Fleet& fleet);  // false: told to stop
  absl::Status KeepServing();
  DemoFrame FrameOf(const Fleet& fleet) const;
  DemoSetting Setting() const;
  void Introduce() const;
  int Conclude(const Fleet& fleet) const;

  const TerminationSignals signals_;  // before any thread
  const DemoOptions options_;
  const Trigger trigger_;
  const SteadyClock clock_;
  Scenario scenario_;
  std::unique_ptr<DemoGpuFile> gpu_file_;
  std::unique_ptr<Standalone> server_;
  std::unique_ptr<ScalerClient> client_;
  std::unique_ptr<DemoTriggers> triggers_;
  DemoCourse course_;
};

absl::Status Demo::Serve() {
  ASSIGN_OR_RETURN(auto gpu_file, DemoGpuFile::Open());
  gpu_file_ = std::make_unique<DemoGpuFile>(std::move(gpu_file));
  RETURN_IF_ERROR(gpu_file_->Write(InferenceService(scenario_.service, clock_.Now()).Snapshot()));
  ASSIGN_OR_RETURN(server_, Standalone::Start(ServerConfig(options_, gpu_file_->path()), clock_));
  ASSIGN_OR_RETURN(
      client_, ScalerClient::Open({.address = absl::StrCat("127.0.0.1:", server_->grpc_port())}));
  const TriggerRef trigger = TriggerOf(options_.profile);
  ASSIGN_OR_RETURN(const MetricSpec spec, client_->GetMetricSpec(trigger));
  triggers_ = std::make_unique<DemoTriggers>(*client_, trigger, spec);
  return absl::OkStatus();
}

std::unique_ptr<Fleet> Demo::StartFleet(const Scenario& scenario, int replicas) {
  return std::make_unique<Fleet>(
      scenario, clock_.Now(), replicas,
      [this](const InferenceService& service) { return triggers_->Of(service); });
}

absl::Status Demo::Tick(Fleet& fleet) {
  fleet.Advance(clock_.Now());
  RETURN_IF_ERROR(gpu_file_->Write(fleet.service().Snapshot()));
  fleet.Scale();
  return absl::OkStatus();
}

absl::StatusOr<bool> Demo::RunLoad(Fleet& fleet) {
  const bool back_to_zero = ExpectationOf(trigger_).back_to_zero;
  const absl::Duration end = scenario_.load.End() + (back_to_zero ? kPatience : kWindDown);
  DemoScreen screen(Setting());
  course_.began_at_zero = true;
  while (fleet.passed() < end && !fleet.AtRest()) {
    if (Stopped()) return false;
    RETURN_IF_ERROR(Tick(fleet));
    screen.Show(FrameOf(fleet));
    if (fleet.passed() < scenario_.load.quiet) course_.began_at_zero &= fleet.desired() == 0;
    course_.most_ready = std::max(course_.most_ready, fleet.service().ready());
    course_.last = fleet.desired();
  }
  screen.Finish();
  return true;
}

DemoFrame Demo::FrameOf(const Fleet& fleet) const {
  DemoFrame frame{.passed = fleet.passed(), .requests_per_second = fleet.requests_per_second()};
  frame.running = fleet.service().running();
  frame.waiting = fleet.service().waiting();
  for (const GpuSample& gpu : fleet.service().Snapshot().gpus) {
    frame.utilization_percent.push_back(gpu.utilization_percent.value_or(0));
    frame.memory_percent.push_back(MemoryUsedPercent(gpu).value_or(0));
  }
  const Keda::Answer& answer = fleet.keda().answer(0);
  if (answer.value.ok()) {
    frame.value = *answer.value;
  } else {
    frame.note = std::string(answer.value.status().message());
  }
  frame.active = answer.active;
  frame.desired = fleet.desired();
  frame.ready = fleet.service().ready();
  if (const auto why = client_->Explain(TriggerOf(options_.profile)); why.ok()) {
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
  const std::string address = absl::StrCat("127.0.0.1:", server_->grpc_port());
  std::cout
      << "A vLLM service on simulated GPUs, scaled by the real server on " << address
      << " and a model of KEDA and the HPA;\n"
      << "the clock runs " << options_.speed << " times as fast. Its ScaledObject asks for 0 to "
      << options_.max_replicas << " replicas by two triggers:\n\n"
      << "  - type: external            # this scaler: GPUs decide how many\n"
      << "    metadata:\n"
      << "      scalerAddress: " << address << "\n"
      << "      profile: " << options_.profile << "\n"
      << "  - type: prometheus          # 1 while requests wait: without replicas there is no\n"
      << "    metadata: {threshold: \"1\"}  # GPU to see, so a demand signal has to wake the "
         "first\n\n"
      << "Ask it yourself:  keda-gpu-scaler query " << address << " profile=" << options_.profile
      << "\n"
      << std::endl;
}

int Demo::Conclude(const Fleet& fleet) const {
  const absl::Duration took = fleet.passed();
  const ScenarioResult ours = fleet.ResultAs("this scaler");
  std::cout << "\nThe same load, " << DurationText(absl::Trunc(took, absl::Seconds(1)))
            << ", one GPU a replica:\n\n"
            << CostTable({ours, RunStatic(scenario_, ours.totals.most_replicas, took),
                          RunReference(scenario_, took)})
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
  std::cout << "\nServing on, under a steady load; Ctrl-C ends it.\n"
            << "  keda-gpu-scaler query 127.0.0.1:" << server_->grpc_port()
            << " profile=" << options_.profile << " --explain" << std::endl;
  Scenario steady = scenario_;
  steady.load = {.quiet = absl::ZeroDuration(),
                 .rise = absl::Seconds(1),
                 .hold = absl::InfiniteDuration(),
                 .peak = scenario_.load.peak / 4};
  const auto fleet = StartFleet(steady, 2);
  while (!Stopped()) RETURN_IF_ERROR(Tick(*fleet));
  return absl::OkStatus();
}

absl::StatusOr<int> Demo::Run() {
  RETURN_IF_ERROR(Serve());
  Introduce();
  const auto fleet = StartFleet(scenario_, 0);
  ASSIGN_OR_RETURN(const bool finished, RunLoad(*fleet));
  if (!finished) {
    std::cout << "\nStopped before the load had ended." << std::endl;
    return std::cout ? kExitFindings : kExitOk;  // main tells of output that failed
  }
  const int code = Conclude(*fleet);
  if (options_.serve) RETURN_IF_ERROR(KeepServing());
  return code;
}

}  // namespace

int RunDemo(const DemoOptions& options) {
  StartLogging(LogLevel::kError, LogFormat::kText);  // the chart is what is to be seen
  auto trigger = ParseTrigger(TriggerOf(options.profile).metadata, BuiltInProfiles());
  if (!trigger.ok()) return Fail("demo", trigger.status(), kExitUsage);
  Demo demo(options, *std::move(trigger));
  const absl::StatusOr<int> code = demo.Run();
  return code.ok() ? *code : Fail("demo", code.status(), kExitCannotServe);
}

}  // namespace gpuscaler
