#include "serve/scaler_service.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/random/random.h"
#include "base/log.h"
#include "base/rate_limit.h"
#include "base/status_macros.h"
#include "base/worker_threads.h"
#include "explain.pb.h"
#include "externalscaler.pb.h"
#include "serve/activity_stream.h"
#include "serve/answers.h"
#include "serve/open_streams.h"
#include "serve/repeat_schedule.h"
#include "serve/snapshot_log.h"
#include "serve/spec_keys.h"
#include "serve/spec_stream.h"
#include "serve/trigger_cache.h"
#include "serve/trigger_evaluator.h"
#include "serve/waiting_calls.h"

namespace gpuscaler {
namespace {

using externalscaler::GetMetricSpecResponse;
using externalscaler::GetMetricsRequest;
using externalscaler::GetMetricsResponse;
using externalscaler::IsActiveResponse;
using gpuscaler::v1::Explanation;
using Ref = externalscaler::ScaledObjectRef;

// How late a call that begins to wait, a repeat or a stream's end may be noticed while no snapshot
// comes; less than the shortest of them takes.
constexpr absl::Duration kLongestSleep = absl::Milliseconds(100);

// The engines of a workload are read one right after the other: what they said is looked at
// together.
constexpr absl::Duration kSignalSleep = absl::Milliseconds(20);

// Decisions at a time.
constexpr int kDecidingThreads = 2;
constexpr size_t kMostQuestions = 10'000;
// A stream that opens is looked at by the service's thread all the same: questions do not wait for
// 20,000 of them.
constexpr size_t kMostBeforeAStream = 1'000;

}  // namespace

class ScalerService::Impl {
 public:
  Impl(const ScalerServiceOptions& options, const Clock& clock, const FleetReader& fleets,
       Leases& leases, const ProfileStore& profiles, RequestMetrics& metrics,
       std::function<void()> wake_sampler, const SignalAccess& signals)
      : options_(options),
        clock_(clock),
        fleets_(fleets),
        profiles_(profiles),
        metrics_(metrics),
        evaluator_({.stale_after = options.stale_after,
                    .grace = options.grace,
                    .forget_after = options.forget_after},
                   clock, fleets, leases, profiles, metrics, std::move(wake_sampler), signals),
        signals_(signals.store),
        cache_({}, options.allowed_namespaces),
        snapshot_log_(options.stale_after, clock, fleets),
        streams_(options.max_streams_per_peer, fleets, metrics),
        deciding_("deciding", kDecidingThreads),
        thread_([this] { Run(); }) {}

  ~Impl() {
    StopStreams();
    deciding_.Stop();
  }

  Methods methods();
  size_t waiting_calls() const { return waiting_.size(); }

  void StopStreams() {
    if (stopping_.exchange(true)) return;
    streams_.End();
    waiting_.Close();
    thread_.join();
  }

 private:
  // One unary call, from its arrival to its answer.
  struct Call {
    Rpc rpc;
    std::shared_ptr<ServerCall> call;
    absl::Time arrived;
  };

  Call Arrived(Rpc rpc, std::shared_ptr<ServerCall> call) const {
    return {rpc, std::move(call), real_.Now()};
  }

  template <typename Response>
  void Finish(const Call& call, const absl::StatusOr<Response>& response) {
    metrics_.Answered(call.rpc, response.status().code(), real_.Now() - call.arrived);
    if (response.ok())
      Reply(*call.call, *response);
    else
      call.call->Finish(response.status());
  }

  // What KEDA never sends. An error of a trigger's metadata is TriggerEvaluator's.
  void Refuse(const Call& call, const absl::Status& why) {
    LogRefusal(call.rpc, *call.call, why);
    metrics_.Answered(call.rpc, why.code(), real_.Now() - call.arrived);
    call.call->Finish(why);
  }

  void LogRefusal(Rpc rpc, const ServerCall& call, const absl::Status& why) {
    const std::optional<int64_t> dropped = refusal_log_.Pass();
    if (!dropped) return;
    LogWarn("request_refused", {{"method", Name(rpc)},
                                {"peer", call.headers().peer},
                                {"why", why.message()},
                                {"dropped", *dropped}});
  }

  void IsActive(const Call& call, const Ref& ref);
  void GetMetrics(const Call& call, const GetMetricsRequest& request);
  void GetMetricSpec(const Call& call, const Ref& ref);
  void Explain(const Call& call, const Ref& ref);
  OnEnd StreamIsActive(const std::shared_ptr<ServerCall>& call, const Ref& ref);
  OnEnd StreamMetricSpec(const std::shared_ptr<ServerCall>& call, const Ref& ref);

  // Finishes the call with what `reply` returns for the cached decision, or for the error that
  // there is instead when snapshot_timeout has passed.
  template <typename Answerer>
  void Answer(const Call& call, Question question, const Ref& ref, Answerer reply);

  // The stream begins, or ends with `refusal`. Returns what must be called at the call's end.
  template <typename Stream>
  OnEnd Begin(Rpc rpc, const ServerCall& call, std::shared_ptr<Stream> stream,
              absl::Status refusal);

  // Of any size: what is too large is cut to what the spec depends on.
  std::shared_ptr<CachedTrigger> ForSpec(const Ref& ref) {
    return cache_.Get(CheckSize(ref).ok() ? ref : OnlySpecKeys(ref));
  }

  StreamLife NewLife() const {
    absl::BitGen random;
    const double jitter = absl::Uniform(random, 0.8, 1.2);
    return {.ends_at = clock_.Now() + options_.stream_lifetime * jitter, .jitter = jitter};
  }

  void Run();
  // How late news of engines and queues may be noticed, which wake nobody, and whatever else.
  absl::Duration LongestSleep() const;
  // The generation that the streams have seen then.
  int64_t RefreshStreams(int64_t seen);
  void RefreshOnSignals(absl::Time now);

  const ScalerServiceOptions options_;
  const Clock& clock_;
  const SteadyClock real_;
  const FleetReader& fleets_;
  const ProfileStore& profiles_;
  RequestMetrics& metrics_;
  const TriggerEvaluator evaluator_;
  const SignalStore* const signals_;
  int64_t seen_signals_ = 0;  // the thread's
  TriggerCache cache_;
  RepeatBudget repeats_;
  RateLimit refusal_log_{real_, 10, absl::Seconds(10)};
  SnapshotLog snapshot_log_;  // the thread's
  WaitingCalls waiting_;
  OpenStreams streams_;
  WorkerThreads deciding_;
  int64_t shown_profiles_ = 0;  // the thread's: what all streams were last refreshed for
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

Methods ScalerService::Impl::methods() {
  const auto unary = [this]<typename Request>(const char* path, Rpc rpc,
                                              void (Impl::*answer)(const Call&, const Request&)) {
    return Unary<Request>(
        path, [this, rpc, answer](const std::shared_ptr<ServerCall>& call, const Request& request) {
          (this->*answer)(Arrived(rpc, call), request);
        });
  };
  const auto stream = [this](const char* path,
                             OnEnd (Impl::*open)(const std::shared_ptr<ServerCall>&, const Ref&)) {
    return ServerStreaming<Ref>(
        path, [this, open](const std::shared_ptr<ServerCall>& call, const Ref& ref) {
          return (this->*open)(call, ref);
        });
  };
  Methods methods;
  methods.insert(unary("/externalscaler.ExternalScaler/IsActive", Rpc::kIsActive, &Impl::IsActive));
  methods.insert(stream("/externalscaler.ExternalScaler/StreamIsActive", &Impl::StreamIsActive));
  methods.insert(unary("/externalscaler.ExternalScaler/GetMetricSpec", Rpc::kGetMetricSpec,
                       &Impl::GetMetricSpec));
  methods.insert(
      unary("/externalscaler.ExternalScaler/GetMetrics", Rpc::kGetMetrics, &Impl::GetMetrics));
  methods.insert(
      stream("/externalscaler.ExternalScaler/StreamMetricSpec", &Impl::StreamMetricSpec));
  methods.insert(unary("/gpuscaler.v1.Explainer/Explain", Rpc::kExplain, &Impl::Explain));
  return methods;
}

template <typename Answerer>
void ScalerService::Impl::Answer(const Call& call, Question question, const Ref& ref,
                                 Answerer reply) {
  if (const absl::Status checked = CheckRef(ref); !checked.ok()) return Refuse(call, checked);
  const std::shared_ptr<CachedTrigger> trigger = cache_.Get(ref);
  const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger);
  if (!parsed->trigger.ok()) return Finish(call, reply(*parsed, parsed->trigger.status()));
  evaluator_.Want(*trigger, *parsed);
  const auto standing = evaluator_.Standing(question, *trigger, parsed);
  if (standing.has_value() && standing->ok()) return Finish(call, reply(*parsed, *standing));
  const auto attempt = [this, call, question, trigger, parsed, reply](bool last) {
    const TriggerEvaluator::Evaluated evaluated = evaluator_.Try(question, *trigger, parsed);
    const bool answers = evaluated.ok() || last;
    if (!answers) return false;
    if (!evaluated.ok()) evaluator_.Unanswered(*trigger, evaluated.status());
    Finish(call, reply(*parsed, evaluated));
    return true;
  };
  const auto wait = [this, arrived = call.arrived, bytes = trigger->size_bytes(), attempt] {
    waiting_.Add(arrived + options_.snapshot_timeout, bytes, attempt);
  };
  if (standing.has_value()) return wait();
  const auto decide = [this, call, attempt, wait] {
    const bool is_late = real_.Now() - call.arrived >= options_.snapshot_timeout;
    if (is_late) return Refuse(call, absl::UnavailableError("too many decisions are wanted"));
    if (!attempt(false)) wait();
  };
  if (!deciding_.Run(decide, kMostQuestions)) {
    Refuse(call, absl::UnavailableError("too many questions wait for a decision"));
  }
}

template <typename Stream>
OnEnd ScalerService::Impl::Begin(Rpc rpc, const ServerCall& call, std::shared_ptr<Stream> stream,
                                 absl::Status refusal) {
  refusal.Update(streams_.Open(rpc, call.headers().peer, stream->size_bytes(), stream));
  if (refusal.ok()) {
    streams_.Watch(stream.get(), stream->interest());  // it is due at once, for RefreshDue()
    const auto refresh = [this, stream] {
      if (!stopping_) stream->Refresh(clock_.Now());
    };
    deciding_.Run(refresh, kMostBeforeAStream);
  } else {
    // Not when it is stopping, nor for what is never served: no fault of the peer's.
    if (absl::IsInvalidArgument(refusal) || absl::IsResourceExhausted(refusal)) {
      LogRefusal(rpc, call, refusal);
    }
    stream->End(refusal);
  }
  return [this, stream = stream.get()] { streams_.Closed(stream, stream->code()); };
}

void ScalerService::Impl::Run() {
  pthread_setname_np(pthread_self(), "answers");  // what `top -H` shows
  int64_t seen = 0;
  while (!stopping_) {
    const absl::Duration pause =
        std::min(waiting_.NextDeadline() - real_.Now(), streams_.NextDue() - clock_.Now());
    fleets_.WaitForGeneration(seen, std::clamp(pause, absl::ZeroDuration(), LongestSleep()));
    snapshot_log_.Look();
    waiting_.Retry(real_.Now());
    seen = RefreshStreams(seen);
    if (options_.came_round) options_.came_round();
  }
}

int64_t ScalerService::Impl::RefreshStreams(int64_t seen) {
  const absl::Time now = clock_.Now();
  const int64_t profiles = profiles_.Get().version;
  const FleetReader::Changes changes = fleets_.ChangedSince(seen);
  // Also beside new profiles: what a stream watches may change with it.
  if (changes.generation > seen) streams_.RefreshChanged(changes, now);
  if (signals_ != nullptr) RefreshOnSignals(now);
  if (profiles != shown_profiles_) {
    shown_profiles_ = profiles;
    streams_.RefreshAll(now);
  } else {
    streams_.RefreshDue(now);
  }
  return changes.generation;
}

absl::Duration ScalerService::Impl::LongestSleep() const {
  const bool on_signals = signals_ != nullptr && (waiting_.size() > 0 || streams_.WatchSources());
  return on_signals ? kSignalSleep : kLongestSleep;
}

void ScalerService::Impl::RefreshOnSignals(absl::Time now) {
  const int64_t generation = signals_->Generation();
  if (generation == seen_signals_) return;
  streams_.RefreshChanged(signals_->ChangedSince(seen_signals_), now);
  seen_signals_ = generation;
}

void ScalerService::Impl::IsActive(const Call& call, const Ref& ref) {
  Answer(call, Question::kActivity, ref,
         [](const ParsedTrigger&,
            const TriggerEvaluator::Evaluated& evaluated) -> absl::StatusOr<IsActiveResponse> {
           RETURN_IF_ERROR(evaluated.status());
           const Decision& decision = evaluated->cached->decision;
           RETURN_IF_ERROR(decision.status);
           IsActiveResponse response;
           response.set_result(decision.active);
           return response;
         });
}

void ScalerService::Impl::GetMetrics(const Call& call, const GetMetricsRequest& request) {
  if (!request.has_scaledobjectref()) {
    return Refuse(call, absl::InvalidArgumentError("no scaledObjectRef"));
  }
  Answer(call, Question::kAll, request.scaledobjectref(),
         [](const ParsedTrigger&,
            const TriggerEvaluator::Evaluated& evaluated) -> absl::StatusOr<GetMetricsResponse> {
           RETURN_IF_ERROR(evaluated.status());
           RETURN_IF_ERROR(evaluated->cached->decision.status);
           return MetricsAnswer(*evaluated->cached);
         });
}

void ScalerService::Impl::Explain(const Call& call, const Ref& ref) {
  Answer(call, Question::kAll, ref,
         [&clock = clock_](
             const ParsedTrigger& parsed,
             const TriggerEvaluator::Evaluated& evaluated) -> absl::StatusOr<Explanation> {
           RETURN_IF_ERROR(parsed.trigger.status());
           return evaluated.ok() ? ExplainAnswer(*evaluated->cached, clock.Now())
                                 : ExplainAnswer(parsed, evaluated.status());
         });
}

void ScalerService::Impl::GetMetricSpec(const Call& call, const Ref& ref) {
  Finish<GetMetricSpecResponse>(call, SpecAnswer(evaluator_.Parse(*ForSpec(ref))->spec));
}

OnEnd ScalerService::Impl::StreamIsActive(const std::shared_ptr<ServerCall>& call, const Ref& ref) {
  const absl::Status checked = CheckRef(ref);
  return Begin(Rpc::kStreamIsActive, *call,
               std::make_shared<ActivityStream>(call, NewLife(), evaluator_, repeats_,
                                                checked.ok() ? cache_.Get(ref) : ForSpec(ref)),
               checked);
}

OnEnd ScalerService::Impl::StreamMetricSpec(const std::shared_ptr<ServerCall>& call,
                                            const Ref& ref) {
  // Without a file the spec never changes, and KEDA takes UNIMPLEMENTED as "ask instead".
  return Begin(Rpc::kStreamMetricSpec, *call,
               std::make_shared<SpecStream>(call, NewLife(), evaluator_, ForSpec(ref)),
               profiles_.HasFile()
                   ? absl::OkStatus()
                   : absl::UnimplementedError("no --profiles: the spec is constant"));
}

ScalerService::ScalerService(const ScalerServiceOptions& options, const Clock& clock,
                             const FleetReader& fleets, Leases& leases,
                             const ProfileStore& profiles, RequestMetrics& metrics,
                             std::function<void()> wake_sampler, const SignalAccess& signals)
    : impl_(std::make_unique<Impl>(options, clock, fleets, leases, profiles, metrics,
                                   std::move(wake_sampler), signals)) {}
ScalerService::~ScalerService() = default;
Methods ScalerService::methods() { return impl_->methods(); }
size_t ScalerService::waiting_calls() const { return impl_->waiting_calls(); }
void ScalerService::StopStreams() { impl_->StopStreams(); }

}  // namespace gpuscaler
