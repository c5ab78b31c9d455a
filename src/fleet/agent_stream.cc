#include "fleet/agent_stream.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "fleet/agent_call.h"
#include "fleet/agent_channel.h"
#include "fleet/agent_loss.h"
#include "rpc/grpc_log.h"
#include "rpc/grpc_status.h"
#include "rpc/refused_handshakes.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// A broken sensor may say nonsense with every reading.
constexpr absl::Duration kRepeatUnbelieved = absl::Minutes(10);

// Of a stream whose words were refused: those of the next one will be, too.
constexpr int kFailuresOfNonsense = 10;

// One that has not said a word by then may be nobody.
constexpr absl::Duration kFirstWord = absl::Seconds(2);

double Random() {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

absl::Duration ReconnectDelay(int failures, double random) {
  constexpr double kLongestSeconds = 10;
  constexpr double kMostJitter = 0.5;  // at the longest too, or all come at once
  const double seconds = std::exp2(std::clamp(failures, 1, 10) - 1);
  return absl::Seconds(std::min(seconds, kLongestSeconds / (1 + kMostJitter)) *
                       (1 + kMostJitter * random));
}

absl::Duration ReconnectDelay(int failures) { return ReconnectDelay(failures, Random()); }

// One Watch.
class AgentStream::Call : public AgentCall<wire::Wanted, wire::Telemetry> {
 public:
  Call(AgentStream& stream, const std::shared_ptr<grpc::Channel>& channel)
      : AgentCall(channel), stream_(stream) {}

 private:
  void Open(Stub& stub, grpc::ClientContext& context) override {
    stub.async()->Watch(&context, this);
  }
  absl::Status Take(wire::Telemetry& told) override { return stream_.Take(told); }
  void Ended(const grpc::Status& status, const absl::Status& fault) override {
    const auto handshake = HandshakeFaultOfCall(status.error_message());
    if (handshake) CountHandshakeFault(*handshake);
    const bool is_tls = stream_.options_.connection.credentials != nullptr;
    stream_.Ended(fault.ok() ? LossOf(FromGrpc(status), is_tls) : fault);
  }

  AgentStream& stream_;
};

AgentStream::AgentStream(const AgentStreamOptions& options, std::string address, const Clock& clock,
                         AgentListener& listener)
    : options_(options),
      address_(std::move(address)),
      clock_(clock),
      listener_(listener),
      unbelieved_(clock, 1, kRepeatUnbelieved) {
  TakeOverGrpcLog();
}

void AgentStream::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  if (call_ != nullptr) call_->Cancel();
}

AgentStream::~AgentStream() {
  Stop();
  std::unique_ptr<Call> ended;  // destroyed without the lock
  MutexLock lock(mutex_);
  while (call_ != nullptr && !call_ended_) ended_.Wait(mutex_);
  ended = std::move(call_);
}

bool AgentStream::IsCatchingUp() const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  if (call_ == nullptr || call_ended_ || caught_up_) return false;
  return told_ || now - began_at_ <= kFirstWord;
}

bool AgentStream::Tick(bool may_begin) {
  const absl::Time now = clock_.Now();
  std::unique_ptr<Call> ended;  // destroyed without the lock
  MutexLock lock(mutex_);
  if (call_ended_) ended = std::move(call_);
  call_ended_ = false;
  if (call_ == nullptr) {
    if (!may_begin || stopping_ || now < next_attempt_) return false;
    Begin();
    return true;
  }
  if (cut_.empty() && now - heard_at_ > options_.silence) {
    cut_ = absl::StrCat("no word from it for ", DurationText(options_.silence));
    call_->Cancel();
  }
  return false;
}

void AgentStream::Begin() {
  heard_at_ = began_at_ = clock_.Now();
  told_ = caught_up_ = false;
  cut_.clear();
  reader_.Begin();
  ++counts_.attempts;
  call_ = std::make_unique<Call>(*this, ConnectToAgent(options_.connection, address_));
  call_->Begin(FirstWanted());
}

wire::Wanted AgentStream::FirstWanted() {
  const absl::Time now = clock_.Now();
  // A little more than was missed: a reading that comes twice is passed over.
  const absl::Duration missed = now - newest_ + absl::Seconds(1);
  wire::Wanted wanted;
  wanted.set_history_seconds(static_cast<uint32_t>(
      absl::ToInt64Seconds(absl::Ceil(std::min(missed, options_.history), absl::Seconds(1)))));
  wanted.set_reader(options_.reader);
  if (wanted_until_ > now) {
    wanted.set_pcie(wanted_.pcie);
    wanted.set_lease_seconds(static_cast<uint32_t>(absl::ToInt64Seconds(wanted_until_ - now)));
  }
  return wanted;
}

void AgentStream::Want(const CostlyReadings& wanted, absl::Duration lease) {
  wire::Wanted message;
  message.set_pcie(wanted.pcie);
  message.set_lease_seconds(static_cast<uint32_t>(absl::ToInt64Seconds(lease)));
  MutexLock lock(mutex_);
  wanted_ = wanted;
  wanted_until_ = clock_.Now() + lease;
  if (call_ != nullptr && !call_ended_) call_->Want(message);
}

AgentStream::Counts AgentStream::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

absl::Status AgentStream::Take(wire::Telemetry& message) {
  {
    MutexLock lock(mutex_);
    ++counts_.messages;
    counts_.bytes += static_cast<int64_t>(message.ByteSizeLong());
  }
  return reader_.Read(message, clock_.Now(), [this](AgentNews news) { Tell(std::move(news)); });
}

void AgentStream::Tell(AgentNews news) {
  if (!news.unbelieved.empty()) LogUnbelieved(news);
  {
    MutexLock lock(mutex_);
    heard_at_ = news.heard_at;
    told_ = true;
    caught_up_ = !news.more;
    failures_ = 0;
    if (!news.readings.empty()) newest_ = news.readings.back().snapshot.taken_at;
    if (news.unchanged_until) newest_ = *news.unchanged_until;
  }
  listener_.Heard(address_, std::move(news));
}

void AgentStream::LogUnbelieved(const AgentNews& news) {
  const auto dropped = unbelieved_.Pass();
  if (!dropped) return;
  LogWarn("reading_unbelieved", {{"address", address_},
                                 {"node", news.node},
                                 {"what", news.unbelieved},
                                 {"dropped", *dropped}});
}

void AgentStream::Ended(absl::Status why) {
  bool stopping = false;
  {
    MutexLock lock(mutex_);
    stopping = stopping_;
    if (!cut_.empty()) why = absl::DeadlineExceededError(cut_);
    if (absl::IsInvalidArgument(why)) failures_ = kFailuresOfNonsense;
    next_attempt_ = clock_.Now() + ReconnectDelay(++failures_);
  }
  if (!stopping) listener_.Lost(address_, why);
  MutexLock lock(mutex_);
  call_ended_ = true;
  ended_.NotifyAll();
}

}  // namespace gpuscaler
