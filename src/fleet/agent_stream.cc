#include "fleet/agent_stream.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "fleet/agent_loss.h"
#include "fleet/grpc_log.h"
#include "fleet/grpc_status.h"
#include "fleet/refused_handshakes.h"
#include "telemetry.grpc.pb.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// What an agent sends at once is 256 KiB and one reading more.
constexpr int kLargestMessage = 4 << 20;
constexpr int kWindow = 256 << 10;

constexpr int kReadChunk = 8 << 10;  // a reading of a busy node is 253 bytes

// The kernel would go on for 15 minutes with a connection whose cable is cut.
constexpr absl::Duration kKeepalive = absl::Seconds(10);
constexpr absl::Duration kUnanswered = absl::Seconds(5);

// A broken sensor may say nonsense with every reading.
constexpr absl::Duration kRepeatUnbelieved = absl::Minutes(10);

// Of a stream whose words were refused: those of the next one will be, too.
constexpr int kFailuresOfNonsense = 10;

// One that has not said a word by then may be nobody.
constexpr absl::Duration kFirstWord = absl::Seconds(2);

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

// A channel for each attempt: gRPC's own delays between attempts are none of ours.
std::shared_ptr<grpc::Channel> Connect(const AgentStreamOptions& options,
                                       const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the agent itself, not a proxy's view of it
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kKeepalive));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kUnanswered));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  // There are thousands of channels, each with a message a second: no ping after each of them to
  // measure how wide the wire is, and no buffer that stays as large as the past once was.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindow);
  arguments.SetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadChunk);
  arguments.SetInt(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadChunk);
  if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
  return grpc::CreateCustomChannel(
      address, options.credentials ? options.credentials() : grpc::InsecureChannelCredentials(),
      arguments);
}

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

// One Watch. gRPC calls the On... functions; OnDone() is the last one, and its end.
class AgentStream::Call : public grpc::ClientBidiReactor<wire::Wanted, wire::Telemetry> {
 public:
  Call(AgentStream& stream, const std::shared_ptr<grpc::Channel>& channel)
      : stream_(stream), stub_(wire::NodeTelemetry::NewStub(channel)) {}

  void Begin(wire::Wanted first) {
    MutexLock lock(mutex_);
    stub_->async()->Watch(&context_, this);
    AddHold();  // Want() comes from outside
    in_flight_ = std::move(first);
    writing_ = true;
    StartWrite(&in_flight_);
    StartRead(&incoming_);
    StartCall();
  }

  void Want(const wire::Wanted& wanted) {
    MutexLock lock(mutex_);
    next_ = wanted;
    WriteNext();
  }

  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (ok) {
      if (fault_.ok()) fault_ = stream_.Take(incoming_);
      if (!fault_.ok()) context_.TryCancel();
      // Protobuf keeps what a message was made of for the next one: of the past 1,000 agents' are
      // 200 MiB.
      if (incoming_.readings_size() > 1) incoming_ = wire::Telemetry();
      return StartRead(&incoming_);
    }
    {
      MutexLock lock(mutex_);
      over_ = true;
    }
    RemoveHold();
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    writing_ = false;
    if (ok) WriteNext();
  }

  void OnDone(const grpc::Status& status) override {
    const auto handshake = HandshakeFaultOfCall(status.error_message());
    if (handshake) CountHandshakeFault(*handshake);
    if (fault_.ok()) fault_ = LossOf(FromGrpc(status), stream_.options_.credentials != nullptr);
    stream_.Ended(fault_);
  }

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || over_ || !next_) return;
    in_flight_ = *std::exchange(next_, std::nullopt);
    writing_ = true;
    StartWrite(&in_flight_);
  }

  AgentStream& stream_;
  const std::unique_ptr<wire::NodeTelemetry::Stub> stub_;
  grpc::ClientContext context_;
  wire::Telemetry incoming_;  // gRPC's while a read is under way
  absl::Status fault_;        // of what was read, or of the stream
  Mutex mutex_;
  wire::Wanted in_flight_;  // gRPC's while writing_
  std::optional<wire::Wanted> next_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
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
  call_ = std::make_unique<Call>(*this, Connect(options_, address_));
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
    next_attempt_ = clock_.Now() + ReconnectDelay(++failures_, Random());
  }
  if (!stopping) listener_.Lost(address_, why);
  MutexLock lock(mutex_);
  call_ended_ = true;
  ended_.NotifyAll();
}

}  // namespace gpuscaler
