// `load`: sends completions in an open loop and reports the results.

#include <unistd.h>

#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/input_file.h"
#include "app/open_files_limit.h"
#include "app/termination.h"
#include "app/value_flags.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/status_macros.h"
#include "lab/lab_commands.h"
#include "simulate/completion_api.h"
#include "simulate/curl_sender.h"
#include "simulate/load_report.h"
#include "simulate/load_run.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kDefaultDuration = absl::Minutes(1);
constexpr absl::string_view kShapes[] = {"constant", "step", "burst", "sine"};

struct LoadFlags {
  std::string target;
  double rate = 10;
  double base = 0;
  std::string shape = "constant";
  absl::Duration period = absl::Minutes(1);
  absl::Duration duration;
  bool poisson = false;
  int seed = 1;
  LoadLimits limits;
  absl::Duration timeout = absl::Seconds(60);
  CompletionWork work;
  std::string output = "text";
};

struct LoadPlan {
  RateCurve curve;
  absl::Duration duration;
};

absl::StatusOr<LoadPlan> PlanOfFile(const LoadFlags& flags) {
  auto text = ReadInput(flags.shape);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flag --shape=", flags.shape, ": no shape, and no file: ", text.status().message(),
        DidYouMean(flags.shape, {std::begin(kShapes), std::end(kShapes)})));
  }
  auto curve = RateCurve::Parse(*text);
  if (!curve.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(flags.shape, ": ", curve.status().message()));
  }
  const absl::Duration duration =
      flags.duration > absl::ZeroDuration() ? flags.duration : curve->LastChange();
  if (duration > absl::ZeroDuration()) return LoadPlan{*std::move(curve), duration};
  return absl::InvalidArgumentError(absl::StrCat(
      flags.shape,
      ": its only line begins at 0: add a last line with the time of its end, or --duration"));
}

absl::StatusOr<LoadPlan> PlanOf(const LoadFlags& flags) {
  if (flags.target.empty()) {
    return absl::InvalidArgumentError("flag --target is missing, such as http://127.0.0.1:8000");
  }
  if (flags.base > flags.rate) {
    return absl::InvalidArgumentError("flag --base is more than --rate, which it rises to");
  }
  const absl::Duration duration =
      flags.duration > absl::ZeroDuration() ? flags.duration : kDefaultDuration;
  if (flags.shape == "constant") return LoadPlan{RateCurve::Constant(flags.rate), duration};
  if (flags.shape == "step") {
    return LoadPlan{RateCurve::Step(flags.base, flags.rate, duration), duration};
  }
  if (flags.shape == "burst") {
    return LoadPlan{RateCurve::Burst(flags.base, flags.rate, flags.period), duration};
  }
  if (flags.shape == "sine") {
    return LoadPlan{RateCurve::Sine(flags.base, flags.rate, flags.period), duration};
  }
  return PlanOfFile(flags);
}

// Returns the URL without user and password, for output.
std::string Shown(const std::string& url) {
  const size_t scheme = url.find("://");
  const size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t at = url.substr(0, url.find('/', host)).rfind('@');
  return at == std::string::npos || at < host
             ? url
             : absl::StrCat(url.substr(0, host), url.substr(at + 1));
}

// The progress of a run on standard error: a line updated in place on a terminal, one line per
// second elsewhere.
class LoadProgress {
 public:
  explicit LoadProgress(const LoadPlan& plan) : plan_(plan) {}

  // Prints if a line is due.
  void Show(LoadRun& run) {
    constexpr absl::Duration kLineInterval = absl::Seconds(1);
    const absl::Duration passed = run.passed();
    if (passed - shown_at_ < kLineInterval) return;
    const double target_rate = passed < plan_.duration ? plan_.curve.RateAt(passed) : 0;
    const std::string line =
        LoadLine(passed, target_rate, run.tally(), run.TakeRecent(), passed - shown_at_);
    std::cerr << (terminal_ ? "\r" : "") << line << (terminal_ ? "\x1b[K" : "\n") << std::flush;
    shown_at_ = passed;
  }

  // Starts later output on a new line.
  void End() const {
    if (terminal_ && shown_at_ > absl::ZeroDuration()) std::cerr << "\r\x1b[K" << std::flush;
  }

 private:
  const LoadPlan& plan_;
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  absl::Duration shown_at_;
};

int RunLoad(const LoadFlags& flags) {
  const TerminationSignals signals;  // before any thread
  const auto plan = PlanOf(flags);
  if (!plan.ok()) return Fail("keda-gpu-scaler-lab load", plan.status(), kExitUsage);
  const std::string url = CompletionUrl(flags.target);
  StartLogging(LogLevel::kWarn, LogFormat::kText);
  RaiseOpenFilesLimit();
  const auto sender = OpenCurlSender(
      {.url = url, .body = CompletionBody(url, flags.work), .timeout = flags.timeout});
  if (!sender.ok()) return Fail("keda-gpu-scaler-lab load", sender.status(), kExitUnavailable);
  const SteadyClock clock;
  LoadLimits limits = flags.limits;
  limits.timeout = flags.timeout;
  Arrivals arrivals(plan->curve, plan->duration, flags.poisson ? Spacing::kPoisson : Spacing::kEven,
                    static_cast<uint64_t>(flags.seed));
  LoadRun run(limits, std::move(arrivals), **sender, clock);
  LoadProgress progress(*plan);
  bool stopped = false;
  const LoadTally& tally = run.Run([&] {
    progress.Show(run);
    stopped = signals.WaitFor(absl::ZeroDuration()) != 0;
    return !stopped;
  });
  progress.End();
  std::cout << (flags.output == "json" ? LoadJson : LoadText)(Shown(url), tally, stopped)
            << std::flush;
  return ErrorsOf(tally) == 0 ? kExitOk : kExitFindings;
}

std::vector<Flag> ShapeFlags(LoadFlags* flags) {
  constexpr double kMaxRate = 100'000;
  return {
      NumberFlag("rate", "Requests a second, at the highest.", 0, kMaxRate, &flags->rate),
      NumberFlag("base", "Requests a second where step, burst and sine are low.", 0, kMaxRate,
                 &flags->base),
      TextFlag("shape", "SHAPE",
               "constant; step: high from the first quarter of the duration to the last; burst: "
               "high for a fifth of each period; sine. Or a file of lines SECONDS RATE, each "
               "until the next.",
               &flags->shape),
      DurationFlag("period", "Period of burst and sine.", absl::Seconds(1), absl::Hours(24),
                   &flags->period),
      DurationFlag("duration",
                   "How long requests are sent; 0: until the last line of a file, else 1m.",
                   absl::ZeroDuration(), absl::Hours(24), &flags->duration),
      SwitchFlag("poisson", "Send at random times of that rate, not evenly spaced ones.",
                 &flags->poisson),
      IntFlag("seed", "Seed of the random times: equal seeds give equal times.", {0},
              &flags->seed)};
}

std::vector<Flag> WorkFlags(LoadFlags* flags) {
  constexpr int kMaxTokens = 131'072, kMaxConcurrent = 60'000;
  return {
      IntFlag("prompt-tokens", "Tokens of each prompt, about.", {1, kMaxTokens},
              &flags->work.prompt_tokens),
      IntFlag("max-tokens", "Tokens of each answer.", {1, kMaxTokens}, &flags->work.max_tokens),
      TextFlag("model", "NAME", "The model to request; empty: whichever is served.",
               &flags->work.model),
      IntFlag("concurrency",
              "Requests in flight at once, at most; others wait for an end, which counts as their "
              "latency.",
              {1, kMaxConcurrent}, &flags->limits.concurrency),
      DurationFlag("timeout",
                   "Time limit of a request; one that waits longer to be sent counts as lost.",
                   absl::Milliseconds(1), absl::Hours(1), &flags->timeout)};
}

}  // namespace

Command LoadCommand() {
  const auto flags = std::make_shared<LoadFlags>();
  Command command = {
      .name = "load",
      .help =
          "Send completions to an inference server, each at its time whether or not earlier "
          "ones were answered; latency counts from that time.",
      .flags = {TextFlag("target", "URL", "The server; without a path /v1/completions is meant.",
                         &flags->target),
                WordFlag("output", "FORMAT", "Format of the result.", {"text", "json"},
                         &flags->output)},
      .run = [flags](const std::vector<std::string>&) { return RunLoad(*flags); }};
  for (auto group : {ShapeFlags(flags.get()), WorkFlags(flags.get())}) {
    for (Flag& flag : group) command.flags.push_back(std::move(flag));
  }
  return command;
}

}  // namespace gpuscaler
