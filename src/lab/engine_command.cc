// `engine`: a simulated inference server, for tests without a GPU.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <utility>

#include "app/commands.h"
#include "app/open_files_limit.h"
#include "app/termination.h"
#include "app/value_flags.h"
#include "base/clock.h"
#include "base/log.h"
#include "lab/lab_commands.h"
#include "simulate/engine_gpu.h"
#include "simulate/engine_preset.h"
#include "simulate/engine_server.h"

namespace gpuscaler {
namespace {

constexpr char kNoPreset[] = "none";

struct EngineFlags {
  std::string bind_address = "127.0.0.1";
  int port = 8000;
  std::string model = EngineServerOptions().model;
  std::string preset = kNoPreset;
  int max_num_seqs = BatchEngineOptions().max_num_seqs;
  int kv_cache_tokens = 400'000;
  double tokens_per_second = 60;
  double full_batch_tokens_per_second = 20;
  bool freeze_gauges = false;
  absl::Duration load_time;
  absl::Duration drain = absl::Seconds(30);
  EngineGpuOptions gpu;
  std::string fault = "none";
  int fault_after = 0;
  std::string log_format = "text";
};

BatchEngineOptions BatchOf(const EngineFlags& flags) {
  BatchEngineOptions batch = {
      .max_num_seqs = flags.max_num_seqs,
      .kv_cache_tokens = flags.kv_cache_tokens,
      .step = StepCost::Between(flags.tokens_per_second, flags.full_batch_tokens_per_second,
                                flags.max_num_seqs)};
  if (const EnginePreset* preset = EnginePresetNamed(flags.preset)) batch = preset->batch;
  batch.freeze_gauges = flags.freeze_gauges;
  return batch;
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names = {kNoPreset};
  for (const EnginePreset& preset : EnginePresets()) names.emplace_back(preset.name);
  return names;
}

class SimulatedEngine {
 public:
  explicit SimulatedEngine(const EngineFlags& flags)
      : flags_(flags), clock_(), gpu_(flags.gpu, flags.load_time, clock_) {}

  int Run() {
    auto port = BoundPort::Open(flags_.bind_address, flags_.port);
    if (!port.ok()) return CannotServe(port.status());
    LogInfo("loading", {{"bind_address", flags_.bind_address},
                        {"port", port->port()},
                        {"model", flags_.model},
                        {"load_seconds", absl::ToDoubleSeconds(flags_.load_time)}});
    if (signals_.WaitFor(flags_.load_time) != 0) return Stopped();
    const int number = port->port();
    auto server = EngineServer::Start(ServerOptions(), *std::move(port), clock_);
    if (!server.ok()) return CannotServe(server.status());
    gpu_.SetServer(**server);
    LogInfo("serving", {{"bind_address", flags_.bind_address},
                        {"port", number},
                        {"model", flags_.model},
                        {"pid", int64_t{getpid()}}});
    const int signal = signals_.Wait();
    LogInfo("stopping", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
    Drain(**server);
    gpu_.Leave();
    return Stopped();
  }

 private:
  EngineServerOptions ServerOptions() {
    EngineServerOptions options = {.model = flags_.model,
                                   .batch = BatchOf(flags_),
                                   .fault = EngineFaultNamed(flags_.fault),
                                   .fault_after = flags_.fault_after};
    options.crash = [this] {
      LogError("crashed", {{"why", "injected: --fault=crash"}});
      gpu_.Leave();  // like a driver after the process ended
      std::_Exit(kExitFindings);
    };
    return options;
  }

  // A second signal ends requests at once.
  void Drain(EngineServer& server) const {
    constexpr absl::Duration kPollInterval = absl::Milliseconds(20);
    server.StopAccepting();
    const absl::Time deadline = clock_.Now() + flags_.drain;
    while (clock_.Now() < deadline && !server.WaitUntilAnswered(kPollInterval)) {
      if (signals_.WaitFor(absl::ZeroDuration()) != 0) break;
    }
    const EngineGauges left = server.Gauges();
    if (left.running + left.waiting == 0) return;
    LogWarn("stopped_with_open_requests", {{"requests", left.running + left.waiting}});
  }

  static int CannotServe(const absl::Status& why) {
    LogError("cannot_serve", {{"why", why.message()}});
    return ExitCodeOf(why, kExitCannotServe);
  }

  int Stopped() {
    LogInfo("stopped");
    return kExitOk;
  }

  const TerminationSignals signals_;  // before any thread
  const EngineFlags flags_;
  const SteadyClock clock_;
  EngineGpu gpu_;
};

int RunEngine(const EngineFlags& flags) {
  if (flags.full_batch_tokens_per_second > flags.tokens_per_second) {
    return Fail(
        "keda-gpu-scaler-lab engine",
        absl::InvalidArgumentError("--full-batch-tokens-per-second is more than "
                                   "--tokens-per-second: a full batch is no faster for one"),
        kExitUsage);
  }
  StartLogging(LogLevel::kInfo, flags.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  RaiseOpenFilesLimit();
  return SimulatedEngine(flags).Run();
}

std::vector<Flag> BatchFlags(EngineFlags* flags) {
  constexpr int kMaxRequests = 65536, kMaxTokens = 1'000'000'000;
  return {
      IntFlag("max-num-seqs", "Requests in the batch at once, as vLLM's flag; the others wait.",
              {1, kMaxRequests}, &flags->max_num_seqs),
      IntFlag("kv-cache-tokens", "Tokens of prompts and answers that the KV cache holds.",
              {16, kMaxTokens}, &flags->kv_cache_tokens),
      NumberFlag("tokens-per-second", "Tokens per second of a request that is alone in the batch.",
                 0.1, 10000, &flags->tokens_per_second),
      NumberFlag("full-batch-tokens-per-second",
                 "Tokens per second of each request in a full batch; between the two, the time "
                 "of a token is a straight line over the size of the batch.",
                 0.1, 10000, &flags->full_batch_tokens_per_second),
      WordFlag("preset", "NAME",
               "An engine with a known step time, batch and KV cache; replaces the four "
               "flags above.",
               PresetNames(), &flags->preset)};
}

std::vector<Flag> GpuFileFlags(EngineGpuOptions* gpu) {
  return {
      TextFlag("gpu-file", "FILE",
               "Show the engine's GPU in this file, which --gpu-source file:FILE reads; several "
               "engines may share it.",
               &gpu->file),
      IntFlag("gpu-index", "Which GPU of the file it is.", {0, 1023}, &gpu->index),
      NumberFlag("gpu-memory-percent", "VRAM taken at the start and kept, busy or idle.", 0, 100,
                 &gpu->memory_percent)};
}

std::vector<Flag> FaultFlags(EngineFlags* flags) {
  return {SwitchFlag("freeze-gauges",
                     "Show requests and cache as of the last step, as vLLM 0.9.1 to 0.10.1 does: "
                     "after all were aborted they stay (vLLM #22545).",
                     &flags->freeze_gauges),
          WordFlag("fault", "FAULT",
                   "Fault: no answer, the end of the process, /metrics of 10 MiB, "
                   "of no text, without an end, elsewhere, or 500 on every path.",
                   EngineFaultNames(), &flags->fault),
          IntFlag("fault-after", "Completions that are taken before that; 0: from the start.", {0},
                  &flags->fault_after)};
}

}  // namespace

Command EngineCommand() {
  const auto flags = std::make_shared<EngineFlags>();
  Command command = {
      .name = "engine",
      .help =
          "Simulate an inference engine: OpenAI's completions at the pace of a GPU, and "
          "vLLM's metrics page.",
      .flags = {TextFlag("bind-address", "ADDRESS", "Address to listen on.", &flags->bind_address),
                IntFlag("port", "Port to listen on; 0: any free one, which the first log line has.",
                        {0, 65535}, &flags->port),
                TextFlag("model", "NAME", "Name of the model that it reports.", &flags->model),
                DurationFlag("load-time", "Until it listens: clients are refused, as by vLLM.",
                             absl::ZeroDuration(), absl::Hours(1), &flags->load_time),
                DurationFlag("drain",
                             "How long requests may take to be answered after SIGTERM; a second "
                             "signal ends them at once.",
                             absl::ZeroDuration(), absl::Hours(1), &flags->drain),
                WordFlag("log-format", "FORMAT", "Format of log lines.", {"text", "json"},
                         &flags->log_format)},
      .run = [flags](const std::vector<std::string>&) { return RunEngine(*flags); }};
  for (auto group : {BatchFlags(flags.get()), GpuFileFlags(&flags->gpu), FaultFlags(flags.get())}) {
    for (Flag& flag : group) command.flags.push_back(std::move(flag));
  }
  return command;
}

}  // namespace gpuscaler
