#include "fleet/agent_engines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "fleet/agent_call.h"
#include "fleet/agent_channel.h"
#include "fleet/engine_wire.h"
#include "rpc/grpc_status.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// Of an agent that looks for none: it may be another one by then.
constexpr absl::Duration kAskAgain = absl::Minutes(1);

constexpr int kFailuresOfLies = 10;  // those of the next stream will be refused, too

// Empty: it has to be tried again.
std::optional<absl::Status> WhyNever(const absl::Status& end) {
  if (absl::IsUnimplemented(end)) {
    return absl::FailedPreconditionError("its agent is of a version that finds no engines");
  }
  if (absl::IsFailedPrecondition(end)) return end;
  return std::nullopt;
}

}  // namespace

// One WatchEngines.
class AgentEngines::Call : public AgentCall<wire::EnginesWanted, wire::EngineTelemetry> {
 public:
  Call(AgentEngines& agent, const std::shared_ptr<grpc::Channel>& channel)
      : AgentCall(channel), agent_(agent) {}

 private:
  void Open(Stub& stub, grpc::ClientContext& context) override {
    stub.async()->WatchEngines(&context, this);
  }
  absl::Status Take(wire::EngineTelemetry& told) override { return agent_.Take(told); }
  void Ended(const grpc::Status& status, const absl::Status& fault) override {
    agent_.Ended(fault.ok() ? FromGrpc(status) : fault);
  }

  AgentEngines& agent_;
};

AgentEngines::AgentEngines(const AgentStreamOptions& options, std::string address,
                           const std::string& node, const Clock& clock, FoundEngines& found)
    : options_(options),
      address_(std::move(address)),
      node_(node),
      clock_(clock),
      found_(found),
      reader_(node, found) {}

void AgentEngines::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  if (call_ != nullptr) call_->Cancel();
}

AgentEngines::~AgentEngines() {
  Stop();
  std::unique_ptr<Call> ended;  // destroyed without the lock
  MutexLock lock(mutex_);
  while (call_ != nullptr && !call_ended_) ended_.Wait(mutex_);
  ended = std::move(call_);
}

void AgentEngines::Want(const EnginesWanted& wanted, absl::Duration lease) {
  MutexLock lock(mutex_);
  wanted_ = wanted;
  wanted_until_ = clock_.Now() + lease;
  if (call_ != nullptr && !call_ended_) call_->Want(Wanted());
}

wire::EnginesWanted AgentEngines::Wanted() const {
  const absl::Duration lease = std::max(wanted_until_ - clock_.Now(), absl::ZeroDuration());
  wire::EnginesWanted message = EncodeWanted(wanted_, lease);
  message.set_reader(options_.reader);
  return message;
}

void AgentEngines::Tick() {
  const absl::Time now = clock_.Now();
  std::unique_ptr<Call> ended;  // destroyed without the lock
  MutexLock lock(mutex_);
  if (call_ended_) ended = std::move(call_);
  call_ended_ = false;
  if (call_ == nullptr) {
    if (!stopping_ && now >= next_attempt_ && wanted_until_ > now) Begin();
    return;
  }
  if (cut_.empty() && now - heard_at_ > options_.silence) {
    cut_ = absl::StrCat("no word from it for ", DurationText(options_.silence));
    call_->Cancel();
  }
}

void AgentEngines::Begin() {
  heard_at_ = clock_.Now();
  told_ = false;
  cut_.clear();
  reader_.Begin();
  ++counts_.attempts;
  call_ = std::make_unique<Call>(*this, ConnectToAgent(options_.connection, address_));
  call_->Begin(Wanted());
}

absl::Status AgentEngines::Take(wire::EngineTelemetry& message) {
  const absl::Time now = clock_.Now();
  {
    MutexLock lock(mutex_);
    ++counts_.messages;
    counts_.readings += message.readings_size();
    counts_.bytes += static_cast<int64_t>(message.ByteSizeLong());
  }
  RETURN_IF_ERROR(reader_.Read(message, now));
  MutexLock lock(mutex_);
  heard_at_ = now;
  told_ = true;
  failures_ = 0;
  logged_.clear();
  return absl::OkStatus();
}

void AgentEngines::Ended(const absl::Status& why) {
  absl::Status end = why;
  bool stopping = false;
  {
    MutexLock lock(mutex_);
    stopping = stopping_;
    if (!cut_.empty()) end = absl::DeadlineExceededError(cut_);
    if (absl::IsInvalidArgument(end)) failures_ = kFailuresOfLies;
    const auto never = WhyNever(end);
    next_attempt_ = clock_.Now() + (never ? kAskAgain : ReconnectDelay(++failures_));
    told_ = false;
  }
  if (!stopping) {
    if (const auto never = WhyNever(end)) found_.List(node_, *never, clock_.Now());
    Log(end);
  }
  MutexLock lock(mutex_);
  call_ended_ = true;
  ended_.NotifyAll();
}

// Once for each reason, until it is heard again.
void AgentEngines::Log(const absl::Status& why) {
  {
    MutexLock lock(mutex_);
    if (logged_ == why.message()) return;
    logged_ = std::string(why.message());
  }
  LogWarn("engines_untold", {{"node", node_}, {"address", address_}, {"why", why.message()}});
}

AgentEngines::Counts AgentEngines::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

bool AgentEngines::is_open() const {
  MutexLock lock(mutex_);
  return told_;
}

}  // namespace gpuscaler
