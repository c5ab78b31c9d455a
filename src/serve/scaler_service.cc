#include "serve/scaler_service.h"

#include <grpcpp/support/server_callback.h>
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
#include "explain.grpc.pb.h"
#include "externalscaler.grpc.pb.h"
#include "rpc/grpc_status.h"
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
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// How late a call that begins to wait, a repeat or a stream's end may be noticed while no snapshot
// comes; less than the shortest of them takes.
constexpr absl::Duration kLongestSleep = absl::Milliseconds(100);

// The engines of a workload are read one right after the other: what they said is looked at
// together.
constexpr absl::Duration kSignalSleep = absl::Milliseconds(20);

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
        scaler_(*this),
        explainer_(*this),
        thread_([this] { Run(); }) {}

  ~Impl() { StopStreams(); }

  std::vector<grpc::Service*> Services() { return {&scaler_, &explainer_}; }
  size_t waiting_calls() const { return waiting_.size(); }

  void StopStreams() {
    if (stopping_.exchange(true)) return;
    streams_.End();
    waiting_.Close();
    thread_.join();
  }

 private:
  class ExternalScaler : public externalscaler::ExternalScaler::CallbackService {
   public:
    explicit ExternalScaler(Impl& impl) : impl_(impl) {}
    ServerUnaryReactor* IsActive(CallbackServerContext* context,
                                 const externalscaler::ScaledObjectRef* ref,
                                 IsActiveResponse* response) override;
    grpc::ServerWriteReactor<IsActiveResponse>* StreamIsActive(
        CallbackServerContext* context, const externalscaler::ScaledObjectRef* ref) override;
    ServerUnaryReactor* GetMetricSpec(CallbackServerContext* context,
                                      const externalscaler::ScaledObjectRef* ref,
                                      GetMetricSpecResponse* response) override;
    ServerUnaryReactor* GetMetrics(CallbackServerContext* context, const GetMetricsRequest* request,
                                   GetMetricsResponse* response) override;
    grpc::ServerWriteReactor<GetMetricSpecResponse>* StreamMetricSpec(
        CallbackServerContext* context, const externalscaler::ScaledObjectRef* ref) override;

   private:
    Impl& impl_;
  };

  class Explainer : public gpuscaler::v1::Explainer::CallbackService {
   public:
    explicit Explainer(Impl& impl) : impl_(impl) {}
    ServerUnaryReactor* Explain(CallbackServerContext* context,
                                const externalscaler::ScaledObjectRef* ref,
                                Explanation* response) override;

   private:
    Impl& impl_;
  };

  // One unary call, from its arrival to its answer.
  struct Call {
    Rpc rpc;
    CallbackServerContext* context;
    ServerUnaryReactor* reactor;
    absl::Time arrived;
  };

  Call Arrived(Rpc rpc, CallbackServerContext* context) const {
    return {rpc, context, context->DefaultReactor(), real_.Now()};
  }

  void Finish(const Call& call, const absl::Status& status) {
    metrics_.Answered(call.rpc, status.code(), real_.Now() - call.arrived);
    call.reactor->Finish(ToGrpc(status));
  }

  // What KEDA never sends; a trigger's bad metadata is the TriggerEvaluator's to tell.
  void Refuse(const Call& call, const absl::Status& why) {
    LogRefusal(call.rpc, *call.context, why);
    Finish(call, why);
  }

  void LogRefusal(Rpc rpc, const CallbackServerContext& context, const absl::Status& why) {
    const std::optional<int64_t> dropped = refusal_log_.Pass();
    if (!dropped) return;
    LogWarn("request_refused", {{"method", Name(rpc)},
                                {"peer", context.peer()},
                                {"why", why.message()},
                                {"dropped", *dropped}});
  }

  // Finishes the call with what `reply` returns for the cached decision, or for the error that
  // there is instead when snapshot_timeout has passed.
  template <typename Reply>
  void Answer(const Call& call, Question question, const externalscaler::ScaledObjectRef& ref,
              Reply reply);

  // The stream begins, or ends with `refusal`.
  template <typename Stream>
  Stream* Begin(Rpc rpc, CallbackServerContext* context, std::shared_ptr<Stream> stream,
                absl::Status refusal);

  // Of any size: what is too large is cut to what the spec depends on.
  std::shared_ptr<CachedTrigger> ForSpec(const externalscaler::ScaledObjectRef& ref) {
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
  ExternalScaler scaler_;
  Explainer explainer_;
  int64_t shown_profiles_ = 0;  // the thread's: what all streams were last refreshed for
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

template <typename Reply>
void ScalerService::Impl::Answer(const Call& call, Question question,
                                 const externalscaler::ScaledObjectRef& ref, Reply reply) {
  if (const absl::Status checked = CheckRef(ref); !checked.ok()) return Refuse(call, checked);
  const std::shared_ptr<CachedTrigger> trigger = cache_.Get(ref);
  const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger);
  if (!parsed->trigger.ok()) return Finish(call, parsed->trigger.status());
  evaluator_.Want(*trigger, *parsed);
  const auto attempt = [this, call, question, trigger, parsed, reply](bool last) {
    const TriggerEvaluator::Evaluated evaluated = evaluator_.Try(question, *trigger, parsed);
    const bool answers = evaluated.ok() || last;
    if (!answers) return false;
    if (!evaluated.ok()) evaluator_.Unanswered(*trigger, evaluated.status());
    Finish(call, reply(*parsed, evaluated));
    return true;
  };
  if (attempt(false)) return;
  waiting_.Add(call.arrived + options_.snapshot_timeout, trigger->size_bytes(), attempt);
}

template <typename Stream>
Stream* ScalerService::Impl::Begin(Rpc rpc, CallbackServerContext* context,
                                   std::shared_ptr<Stream> stream, absl::Status refusal) {
  Stream* const begun = stream.get();
  const size_t bytes = begun->size_bytes();
  const absl::Status opened = streams_.Open(rpc, context->peer(), bytes, std::move(stream));
  refusal.Update(opened);
  if (refusal.ok()) {
    streams_.Watch(begun, begun->interest());
    begun->Refresh(clock_.Now());
  } else {
    // Not when it is stopping, nor for what is never served: no fault of the peer's.
    if (absl::IsInvalidArgument(refusal) || absl::IsResourceExhausted(refusal)) {
      LogRefusal(rpc, *context, refusal);
    }
    begun->End(refusal);
  }
  return begun;
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

ServerUnaryReactor* ScalerService::Impl::ExternalScaler::IsActive(
    CallbackServerContext* context, const externalscaler::ScaledObjectRef* ref,
    IsActiveResponse* response) {
  const Call call = impl_.Arrived(Rpc::kIsActive, context);
  impl_.Answer(call, Question::kActivity, *ref,
               [response](const ParsedTrigger&, const TriggerEvaluator::Evaluated& evaluated) {
                 if (!evaluated.ok()) return evaluated.status();
                 response->set_result(evaluated->cached->decision.active);
                 return evaluated->cached->decision.status;
               });
  return call.reactor;
}

ServerUnaryReactor* ScalerService::Impl::ExternalScaler::GetMetrics(
    CallbackServerContext* context, const GetMetricsRequest* request,
    GetMetricsResponse* response) {
  const Call call = impl_.Arrived(Rpc::kGetMetrics, context);
  if (!request->has_scaledobjectref()) {
    impl_.Refuse(call, absl::InvalidArgumentError("no scaledObjectRef"));
    return call.reactor;
  }
  impl_.Answer(call, Question::kAll, request->scaledobjectref(),
               [response](const ParsedTrigger&, const TriggerEvaluator::Evaluated& evaluated) {
                 if (!evaluated.ok()) return evaluated.status();
                 const CachedDecision& cached = *evaluated->cached;
                 if (cached.decision.status.ok()) *response = MetricsAnswer(cached);
                 return cached.decision.status;
               });
  return call.reactor;
}

ServerUnaryReactor* ScalerService::Impl::Explainer::Explain(
    CallbackServerContext* context, const externalscaler::ScaledObjectRef* ref,
    Explanation* response) {
  const Call call = impl_.Arrived(Rpc::kExplain, context);
  const Clock& clock = impl_.clock_;
  impl_.Answer(call, Question::kAll, *ref,
               [response, &clock](const ParsedTrigger& parsed,
                                  const TriggerEvaluator::Evaluated& evaluated) {
                 *response = evaluated.ok() ? ExplainAnswer(*evaluated->cached, clock.Now())
                                            : ExplainAnswer(parsed, evaluated.status());
                 return absl::OkStatus();
               });
  return call.reactor;
}

ServerUnaryReactor* ScalerService::Impl::ExternalScaler::GetMetricSpec(
    CallbackServerContext* context, const externalscaler::ScaledObjectRef* ref,
    GetMetricSpecResponse* response) {
  const Call call = impl_.Arrived(Rpc::kGetMetricSpec, context);
  *response = SpecAnswer(impl_.evaluator_.Parse(*impl_.ForSpec(*ref))->spec);
  impl_.Finish(call, absl::OkStatus());
  return call.reactor;
}

grpc::ServerWriteReactor<IsActiveResponse>* ScalerService::Impl::ExternalScaler::StreamIsActive(
    CallbackServerContext* context, const externalscaler::ScaledObjectRef* ref) {
  const absl::Status checked = CheckRef(*ref);
  return impl_.Begin(Rpc::kStreamIsActive, context,
                     std::make_shared<ActivityStream>(
                         impl_.streams_, impl_.NewLife(), impl_.evaluator_, impl_.repeats_,
                         checked.ok() ? impl_.cache_.Get(*ref) : impl_.ForSpec(*ref)),
                     checked);
}

grpc::ServerWriteReactor<GetMetricSpecResponse>*
ScalerService::Impl::ExternalScaler::StreamMetricSpec(CallbackServerContext* context,
                                                      const externalscaler::ScaledObjectRef* ref) {
  // Without a file the spec never changes, and KEDA takes UNIMPLEMENTED as "ask instead".
  return impl_.Begin(Rpc::kStreamMetricSpec, context,
                     std::make_shared<SpecStream>(impl_.streams_, impl_.NewLife(), impl_.evaluator_,
                                                  impl_.ForSpec(*ref)),
                     impl_.profiles_.HasFile()
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
std::vector<grpc::Service*> ScalerService::Services() { return impl_->Services(); }
size_t ScalerService::waiting_calls() const { return impl_->waiting_calls(); }
void ScalerService::StopStreams() { impl_->StopStreams(); }

}  // namespace gpuscaler
