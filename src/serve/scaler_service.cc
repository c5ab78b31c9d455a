#include "serve/scaler_service.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/jitter.h"
#include "base/log.h"
#include "base/rate_limit.h"
#include "base/status_macros.h"
#include "base/worker_threads.h"
#include "explain.pb.h"
#include "externalscaler.pb.h"
#include "scaling/replica_room.h"
#include "serve/activity_stream.h"
#include "serve/answers.h"
#include "serve/live_trigger.h"
#include "serve/repeat_schedule.h"
#include "serve/snapshot_log.h"
#include "serve/spec_keys.h"
#include "serve/spec_stream.h"
#include "serve/stream_registry.h"
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

// The longest delay, without a new snapshot, until the thread sees a new waiting call or a due
// stream. It is shorter than any wait or repeat interval.
constexpr absl::Duration kLongestSleep = absl::Milliseconds(100);

// Changes of the fleet within this time are evaluated together: 1,000 nodes change up to 1,000
// times a second, and waking the thread costs more than evaluating most changes.
constexpr absl::Duration kChangesTogether = absl::Milliseconds(2);

// The engines of a workload are read in quick succession. Their readings are evaluated together
// after this time.
constexpr absl::Duration kSignalSleep = absl::Milliseconds(20);

constexpr int kDecidingThreads = 2;
// Limits on what one client has waiting for a thread. The explanation of a large workload takes
// milliseconds.
constexpr size_t kMaxQueries = 10'000;
constexpr size_t kMaxExplanations = 100;
constexpr absl::Duration kLongestQueue = absl::Milliseconds(1500);

absl::StatusOr<IsActiveResponse> ActivityOf(const TriggerEvaluator::EvaluationOr& evaluated) {
  RETURN_IF_ERROR(evaluated.status());
  const Decision& decision = evaluated->cached->decision;
  RETURN_IF_ERROR(decision.status);
  IsActiveResponse response;
  response.set_result(decision.active);
  return response;
}

absl::StatusOr<GetMetricsResponse> MetricsOf(const TriggerEvaluator::EvaluationOr& evaluated) {
  RETURN_IF_ERROR(evaluated.status());
  RETURN_IF_ERROR(evaluated->cached->decision.status);
  return MetricsAnswer(*evaluated->cached);
}

StalenessLimits StalenessOf(const ScalerServiceOptions& options) {
  return {.stale_after = options.stale_after,
          .grace = options.grace,
          .forget_after = options.forget_after};
}

// Returns the name under which a history or a page lists the trigger.
std::string ListedName(const ParsedTrigger& parsed) {
  const bool is_default = parsed.spec.metric_name == Trigger().metric_name;
  if (!is_default || !parsed.trigger.ok()) return parsed.spec.metric_name;
  return std::string(InfoOf(parsed.trigger->metric).name);
}

// The free GPUs are those of all nodes at the time of the explanation. A decision has only the
// nodes of its own pods, and stays in the cache while others change.
absl::StatusOr<Explanation> ExplanationWithRoom(const ParsedTrigger& parsed,
                                                const TriggerEvaluator::EvaluationOr& evaluated,
                                                const FleetReader& fleets,
                                                const StalenessLimits& staleness, absl::Time now) {
  RETURN_IF_ERROR(parsed.trigger.status());
  if (!evaluated.ok()) return ExplainAnswer(parsed, evaluated.status());
  const Decision& decision = evaluated->cached->decision;
  std::string no_room;
  if (AsksForMoreReplicas(*parsed.trigger, decision)) {
    const auto fleet = fleets.AllNodes();
    if (fleet.ok()) no_room = WhyNoRoom(*parsed.trigger, decision, **fleet, staleness);
  }
  return ExplainAnswer(*evaluated->cached, now, no_room);
}

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
        evaluator_(StalenessOf(options), clock, fleets, leases, profiles, metrics,
                   std::move(wake_sampler), signals, options.namespaces),
        signals_(signals.store),
        cache_({}, options.allowed_namespaces),
        snapshot_log_(options.stale_after, clock, fleets),
        streams_(options.max_streams_per_peer, fleets, metrics),
        deciding_("deciding", kDecidingThreads),
        explaining_("explaining", 1),
        thread_([this] { Run(); }) {}

  ~Impl() {
    StopStreams();
    explaining_.Stop();
    deciding_.Stop();
  }

  Methods methods();
  std::vector<LiveTrigger> LiveTriggers(
      absl::FunctionRef<bool(const TriggerEntry&)> is_wanted) const;
  absl::StatusOr<std::shared_ptr<const CachedDecision>> Evaluate(const LiveTrigger& live) const;
  Explanation ExplainLive(
      const LiveTrigger& live,
      const absl::StatusOr<std::shared_ptr<const CachedDecision>>& decision) const;
  size_t waiting_calls() const { return waiting_.size(); }

  void StopStreams() {
    if (stopping_.exchange(true)) return;
    streams_.End();
    waiting_.Close();
    thread_.join();
  }

 private:
  // A unary call.
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

  // Logs and refuses a request: one that KEDA never sends, or one too many. TriggerEvaluator logs
  // errors in metadata.
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

  // Finishes a call with its answer for a cached decision or for an error.
  using Replier = std::function<void(const Call& call, const ParsedTrigger& parsed,
                                     const TriggerEvaluator::EvaluationOr& evaluated)>;
  // A call for a trigger.
  struct TriggerQuery {
    Call call;
    DecisionPart part;
    std::shared_ptr<TriggerEntry> trigger;
    Replier reply;
    TriggerEvaluator::Parsed parsed = nullptr;  // null: not parsed yet
  };

  void IsActive(const Call& call, const Ref& ref);
  void GetMetrics(const Call& call, const GetMetricsRequest& request);
  void GetMetricSpec(const Call& call, const Ref& ref);
  void Explain(const Call& call, const Ref& ref);
  OnEnd StreamIsActive(const std::shared_ptr<ServerCall>& call, const Ref& ref);
  OnEnd StreamMetricSpec(const std::shared_ptr<ServerCall>& call, const Ref& ref);

  // Runs on the server's thread. Replies within snapshot_timeout.
  void Answer(const Call& call, DecisionPart part, const Ref& ref, Replier reply);
  // Returns false if the answer needs a decision.
  bool AnswerFromCache(const TriggerQuery& query);
  // Runs on a thread of deciding_ or explaining_.
  void Decide(TriggerQuery query);
  // Returns false if there is no answer yet. If `last`, always answers.
  bool Try(const TriggerQuery& query, bool last);
  void Wait(const TriggerQuery& query);
  // Returns true, and counts the call, if the client has ended it.
  bool DropIfEnded(const Call& call);
  // Refuses the call and returns true if it has waited too long for a thread.
  bool RefuseIfLate(const Call& call);
  // Runs `task` on deciding_ or explaining_. Refuses the call if too many calls, or too many bytes,
  // of its client wait for a thread.
  void Run(const Call& call, const TriggerEntry& trigger, std::function<void()> task);

  // Starts the stream, or ends the call with `refusal`. Returns the callback for the call's end.
  OnEnd Begin(Rpc rpc, ServerCall& call, const std::shared_ptr<ScalerStream>& stream,
              absl::Status refusal);

  // Metadata that is too large is reduced to the keys of the spec.
  std::shared_ptr<TriggerEntry> ForSpec(const Ref& ref) {
    return cache_.Get(CheckSize(ref).ok() ? ref : OnlySpecKeys(ref));
  }

  absl::Time StreamEnd(double jitter) const {
    return clock_.Now() + options_.stream_lifetime * jitter;
  }

  void Run();
  // The sleep is short while calls or streams depend on signals, because new signals do not wake
  // the thread.
  absl::Duration LongestSleep() const;
  // Refreshes streams for changes after generation `seen`, and returns the newest generation.
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
  int64_t seen_signals_ = 0;  // used by thread_ only
  TriggerCache cache_;
  RepeatBudget repeats_;
  RateLimit refusal_log_{real_, 10, absl::Seconds(10)};
  SnapshotLog snapshot_log_;  // used by thread_ only
  WaitingCalls waiting_;
  StreamRegistry streams_;
  WorkerThreads deciding_;
  WorkerThreads explaining_;    // separate, so that no decision for KEDA waits for explanations
  int64_t shown_profiles_ = 0;  // version that all streams were refreshed for; thread_ only
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

// Other clients wait for the server's thread. It therefore parses no metadata, builds no
// explanation, reads no whole fleet and looks for no engines.
void ScalerService::Impl::Answer(const Call& call, DecisionPart part, const Ref& ref,
                                 Replier reply) {
  if (const absl::Status checked = CheckRef(ref); !checked.ok()) return Refuse(call, checked);
  TriggerQuery query{
      .call = call, .part = part, .trigger = cache_.Get(ref), .reply = std::move(reply)};
  if (call.rpc != Rpc::kExplain) {
    const TriggerEvaluator::Parsed known = evaluator_.FindParsed(*query.trigger);
    const bool is_quick =
        known != nullptr &&
        (!known->trigger.ok() || (known->trigger->scope == Scope::kWorkload &&
                                  !evaluator_.RecordRequestBlocks(*query.trigger, *known)));
    if (is_quick) query.parsed = known;
    if (is_quick && AnswerFromCache(query)) return;
  }
  Run(call, *query.trigger, [this, query] { Decide(query); });
}

bool ScalerService::Impl::AnswerFromCache(const TriggerQuery& query) {
  const ParsedTrigger& parsed = *query.parsed;
  if (!parsed.trigger.ok()) {
    query.trigger->LeaseFrom(clock_.Now());
    query.reply(query.call, parsed, parsed.trigger.status());
    return true;
  }
  // Only KEDA's calls are spread over several servers.
  const bool is_of_keda = query.call.rpc != Rpc::kExplain;
  evaluator_.RecordRequest(*query.trigger, parsed,
                           is_of_keda ? options_.expected_gap : absl::ZeroDuration());
  const auto answer = evaluator_.TryCached(query.part, *query.trigger, query.parsed);
  if (!answer.has_value()) return false;
  if (answer->ok())
    query.reply(query.call, parsed, *answer);
  else
    Wait(query);
  return true;
}

void ScalerService::Impl::Decide(TriggerQuery query) {
  if (DropIfEnded(query.call) || RefuseIfLate(query.call)) return;
  if (query.parsed == nullptr) {
    query.parsed = evaluator_.Parse(*query.trigger);
    if (AnswerFromCache(query)) return;
  }
  if (!Try(query, /*last=*/false)) Wait(query);
}

bool ScalerService::Impl::Try(const TriggerQuery& query, bool last) {
  const TriggerEvaluator::EvaluationOr evaluated =
      evaluator_.Try(query.part, *query.trigger, query.parsed);
  if (!evaluated.ok() && !last) return false;
  if (!evaluated.ok()) evaluator_.ReportUnavailable(*query.trigger, evaluated.status());
  query.reply(query.call, *query.parsed, evaluated);
  return true;
}

void ScalerService::Impl::Wait(const TriggerQuery& query) {
  const auto attempt = [this, query](bool last) {
    if (query.call.rpc != Rpc::kExplain) return Try(query, last);
    const auto answer = evaluator_.TryCached(query.part, *query.trigger, query.parsed);
    if (answer.has_value() && !answer->ok() && !last) return false;
    Run(query.call, *query.trigger, [this, query, last] {
      if (!Try(query, last)) Wait(query);
    });
    return true;
  };
  waiting_.Add(query.call.arrived + options_.snapshot_timeout, query.call.call->headers().peer,
               query.trigger->size_bytes(), attempt);
}

bool ScalerService::Impl::DropIfEnded(const Call& call) {
  const bool has_ended = call.call->is_finished();
  if (has_ended) {
    metrics_.Answered(call.rpc, absl::StatusCode::kCancelled, real_.Now() - call.arrived);
  }
  return has_ended;
}

bool ScalerService::Impl::RefuseIfLate(const Call& call) {
  const bool is_late = real_.Now() - call.arrived >= kLongestQueue;
  if (is_late) Refuse(call, absl::UnavailableError("too many requests are waiting"));
  return is_late;
}

void ScalerService::Impl::Run(const Call& call, const TriggerEntry& trigger,
                              std::function<void()> task) {
  const std::string& peer = call.call->headers().peer;
  const bool explains = call.rpc == Rpc::kExplain;
  const bool runs = (explains ? explaining_ : deciding_)
                        .Run(std::move(task), explains ? kMaxExplanations : kMaxQueries, peer,
                             trigger.size_bytes());
  if (!runs) Refuse(call, absl::UnavailableError("too many requests of this client are waiting"));
}

OnEnd ScalerService::Impl::Begin(Rpc rpc, ServerCall& call,
                                 const std::shared_ptr<ScalerStream>& stream,
                                 absl::Status refusal) {
  if (refusal.ok()) {
    refusal = streams_.Open(rpc, call.headers().peer, stream->size_bytes(), stream);
  }
  if (!refusal.ok()) {
    // Refusals while stopping, and of UNIMPLEMENTED streams, are no fault of the peer.
    if (absl::IsInvalidArgument(refusal) || absl::IsResourceExhausted(refusal)) {
      LogRefusal(rpc, call, refusal);
    }
    metrics_.Answered(rpc, refusal.code(), absl::ZeroDuration());
    call.Finish(refusal);
    return nullptr;
  }
  // A stream that ends while it waits for a thread releases its metadata.
  const auto begin = [this, waiting = std::weak_ptr(stream)] {
    const std::shared_ptr<ScalerStream> begun = waiting.lock();
    if (stopping_ || begun == nullptr || begun->has_ended()) return;
    streams_.Watch(begun.get(), begun->interest());
    begun->Refresh(clock_.Now());
  };
  // A tenant of its own, so that the client's streams take turns with its calls.
  const std::string tenant = absl::StrCat(call.headers().peer, " streams");
  if (deciding_.Run(begin, options_.max_streams_per_peer, tenant)) {
    call.SendHeaders();
  } else {
    stream->End(absl::UnavailableError("too many streams of this client begin"));
  }
  return [this, stream = stream.get()] { streams_.Closed(stream, stream->code()); };
}

void ScalerService::Impl::Run() {
  pthread_setname_np(pthread_self(), "answers");  // shown by `top -H`
  int64_t seen = 0;
  while (!stopping_) {
    const absl::Duration pause =
        std::min(waiting_.NextDeadline() - real_.Now(), streams_.NextDue() - clock_.Now());
    fleets_.WaitForGeneration(seen, std::clamp(pause, absl::ZeroDuration(), LongestSleep()));
    snapshot_log_.LogChange();
    waiting_.Retry(real_.Now());
    const int64_t before = std::exchange(seen, RefreshStreams(seen));
    if (seen != before) absl::SleepFor(kChangesTogether);
    if (options_.on_tick) options_.on_tick();
  }
}

int64_t ScalerService::Impl::RefreshStreams(int64_t seen) {
  const absl::Time now = clock_.Now();
  const int64_t profiles = profiles_.Get().version;
  const FleetReader::Changes changes = fleets_.ChangedSince(seen);
  // Needed also if the profiles changed, because a change of the fleet may change what a stream
  // watches.
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
  const size_t waiting = waiting_.size();
  const bool on_signals = signals_ != nullptr && (waiting > 0 || streams_.HasWatchedSources());
  const bool continues = waiting > WaitingCalls::kTriedAtOnce;
  return on_signals || continues ? kSignalSleep : kLongestSleep;
}

void ScalerService::Impl::RefreshOnSignals(absl::Time now) {
  const int64_t generation = signals_->Generation();
  if (generation == seen_signals_) return;
  streams_.RefreshChanged(signals_->ChangedSince(seen_signals_), now);
  seen_signals_ = generation;
}

void ScalerService::Impl::IsActive(const Call& call, const Ref& ref) {
  Answer(call, DecisionPart::kActivity, ref,
         [this](const Call& pending, const ParsedTrigger&,
                const TriggerEvaluator::EvaluationOr& evaluated) {
           Finish(pending, ActivityOf(evaluated));
         });
}

void ScalerService::Impl::GetMetrics(const Call& call, const GetMetricsRequest& request) {
  if (!request.has_scaledobjectref()) {
    return Refuse(call, absl::InvalidArgumentError("no scaledObjectRef"));
  }
  Answer(call, DecisionPart::kAll, request.scaledobjectref(),
         [this](const Call& pending, const ParsedTrigger&,
                const TriggerEvaluator::EvaluationOr& evaluated) {
           Finish(pending, MetricsOf(evaluated));
         });
}

void ScalerService::Impl::Explain(const Call& call, const Ref& ref) {
  Answer(call, DecisionPart::kAll, ref,
         [this](const Call& pending, const ParsedTrigger& parsed,
                const TriggerEvaluator::EvaluationOr& evaluated) {
           const StalenessLimits staleness = StalenessOf(options_);
           Finish(pending,
                  ExplanationWithRoom(parsed, evaluated, fleets_, staleness, clock_.Now()));
         });
}

void ScalerService::Impl::GetMetricSpec(const Call& call, const Ref& ref) {
  const std::shared_ptr<TriggerEntry> trigger = ForSpec(ref);
  const auto answer = [this, call](const ParsedTrigger& parsed) {
    Finish<GetMetricSpecResponse>(call, SpecAnswer(parsed.spec));
  };
  if (const auto known = evaluator_.FindParsed(*trigger)) return answer(*known);
  Run(call, *trigger, [this, call, trigger, answer] {
    if (!RefuseIfLate(call)) answer(*evaluator_.Parse(*trigger));
  });
}

OnEnd ScalerService::Impl::StreamIsActive(const std::shared_ptr<ServerCall>& call, const Ref& ref) {
  const absl::Status checked = CheckRef(ref);
  const double jitter = Jitter(0.8, 1.2);
  return Begin(
      Rpc::kStreamIsActive, *call,
      std::make_shared<ActivityStream>(call, StreamEnd(jitter), jitter, evaluator_, repeats_,
                                       checked.ok() ? cache_.Get(ref) : ForSpec(ref)),
      checked);
}

OnEnd ScalerService::Impl::StreamMetricSpec(const std::shared_ptr<ServerCall>& call,
                                            const Ref& ref) {
  // Without a file the spec never changes, and on UNIMPLEMENTED KEDA polls GetMetricSpec instead.
  return Begin(
      Rpc::kStreamMetricSpec, *call,
      std::make_shared<SpecStream>(call, StreamEnd(Jitter(0.8, 1.2)), evaluator_, ForSpec(ref)),
      profiles_.HasFile() ? absl::OkStatus()
                          : absl::UnimplementedError("no --profiles: the spec is constant"));
}

std::vector<LiveTrigger> ScalerService::Impl::LiveTriggers(
    absl::FunctionRef<bool(const TriggerEntry&)> is_wanted) const {
  const absl::Time now = clock_.Now();
  std::vector<LiveTrigger> live;
  for (const std::shared_ptr<TriggerEntry>& entry : cache_.All()) {
    if (!is_wanted(*entry)) continue;
    const TriggerEntry::Lease lease = entry->lease();
    if (lease.until <= now) continue;
    const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*entry);
    live.push_back({.namespace_name = entry->namespace_name(),
                    .scaled_object = entry->name(),
                    .name = ListedName(*parsed),
                    .requested_at = lease.requested_at,
                    .entry = entry,
                    .parsed = parsed});
  }
  const auto key = [](const LiveTrigger& trigger) {
    return std::tie(trigger.namespace_name, trigger.scaled_object, trigger.name);
  };
  std::ranges::sort(live, [&](const LiveTrigger& a, const LiveTrigger& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.requested_at > b.requested_at;
  });
  const auto is_same = [&](const LiveTrigger& a, const LiveTrigger& b) { return key(a) == key(b); };
  live.erase(std::unique(live.begin(), live.end(), is_same), live.end());
  return live;
}

absl::StatusOr<std::shared_ptr<const CachedDecision>> ScalerService::Impl::Evaluate(
    const LiveTrigger& live) const {
  RETURN_IF_ERROR(live.parsed->trigger.status());
  ASSIGN_OR_RETURN(const Evaluation evaluation,
                   evaluator_.Try(DecisionPart::kAll, *live.entry, live.parsed));
  evaluator_.LeaseInputs(*live.entry, *live.parsed);
  return evaluation.cached;
}

Explanation ScalerService::Impl::ExplainLive(
    const LiveTrigger& live,
    const absl::StatusOr<std::shared_ptr<const CachedDecision>>& decision) const {
  if (!decision.ok()) return ExplainAnswer(*live.parsed, decision.status());
  const auto explanation = ExplanationWithRoom(*live.parsed, Evaluation{.cached = *decision},
                                               fleets_, StalenessOf(options_), clock_.Now());
  return explanation.ok() ? *explanation : ExplainAnswer(*live.parsed, explanation.status());
}

ScalerService::ScalerService(const ScalerServiceOptions& options, const Clock& clock,
                             const FleetReader& fleets, Leases& leases,
                             const ProfileStore& profiles, RequestMetrics& metrics,
                             std::function<void()> wake_sampler, const SignalAccess& signals)
    : impl_(std::make_unique<Impl>(options, clock, fleets, leases, profiles, metrics,
                                   std::move(wake_sampler), signals)) {}
ScalerService::~ScalerService() = default;
Methods ScalerService::methods() { return impl_->methods(); }
std::vector<LiveTrigger> ScalerService::LiveTriggers() const {
  return impl_->LiveTriggers([](const TriggerEntry& /*entry*/) { return true; });
}
std::vector<LiveTrigger> ScalerService::LiveTriggersOf(absl::string_view namespace_name,
                                                       absl::string_view scaled_object) const {
  return impl_->LiveTriggers([&](const TriggerEntry& entry) {
    return entry.namespace_name() == namespace_name && entry.name() == scaled_object;
  });
}
absl::StatusOr<std::shared_ptr<const CachedDecision>> ScalerService::Evaluate(
    const LiveTrigger& live) const {
  return impl_->Evaluate(live);
}
Explanation ScalerService::ExplanationOf(
    const LiveTrigger& live,
    const absl::StatusOr<std::shared_ptr<const CachedDecision>>& decision) const {
  return impl_->ExplainLive(live, decision);
}
size_t ScalerService::waiting_calls() const { return impl_->waiting_calls(); }
void ScalerService::StopStreams() { impl_->StopStreams(); }

}  // namespace gpuscaler
