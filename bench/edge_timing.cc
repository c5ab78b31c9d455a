#include "edge_timing.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "externalscaler.grpc.pb.h"

namespace gpuscaler {
namespace {

using externalscaler::IsActiveResponse;
using std::chrono::nanoseconds;

// A StreamIsActive of one trigger. The scaler sends `true` when the trigger becomes active, but
// never `false`. So a new stream is opened for each edge, while the trigger is inactive.
class ActivityWatch {
 public:
  ActivityWatch(const std::string& address, const std::map<std::string, std::string>& trigger,
                EdgeClock::duration timeout)
      : deadline_(std::chrono::system_clock::now() + timeout),
        stub_(externalscaler::ExternalScaler::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
    ref_.set_name("edge");
    ref_.set_namespace_("bench");
    ref_.mutable_scalermetadata()->insert(trigger.begin(), trigger.end());
  }

  // Blocks until the trigger is inactive and a stream is open; throws after the timeout.
  void OpenWhenIdle() {
    call_.reset();
    while (IsActive()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    call_ = std::make_unique<Call>();
    call_->context.set_deadline(deadline_);
    call_->stream = stub_->StreamIsActive(&call_->context, ref_);
    call_->stream->WaitForInitialMetadata();
  }

  // Returns when `true` arrived; throws if the stream ends without it.
  EdgeClock::time_point WaitForTrue() {
    IsActiveResponse response;
    if (call_->stream->Read(&response)) return EdgeClock::now();
    const grpc::Status ended = call_->stream->Finish();
    call_->stream.reset();
    throw std::runtime_error("the stream ended: " + ended.error_message());
  }

 private:
  struct Call {
    ~Call() {
      if (stream == nullptr) return;
      context.TryCancel();
      stream->Finish().ok();
    }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<IsActiveResponse>> stream;
  };

  bool IsActive() {
    grpc::ClientContext context;
    context.set_deadline(deadline_);
    IsActiveResponse response;
    const grpc::Status status = stub_->IsActive(&context, ref_, &response);
    // The scaler has no reading yet, so the trigger may be active: try again.
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) return true;
    if (!status.ok()) throw std::runtime_error("IsActive: " + status.error_message());
    return response.result();
  }

  const std::chrono::system_clock::time_point deadline_;
  const std::unique_ptr<externalscaler::ExternalScaler::Stub> stub_;
  externalscaler::ScaledObjectRef ref_;
  std::unique_ptr<Call> call_;
};

// Returns the phases of the edges within the interval. The interval is divided into `edges` equal
// parts, and each part has one phase at a random place. The order is random, so that the edges are
// not in step with another period.
std::vector<nanoseconds> Phases(const EdgeRun& run) {
  std::mt19937_64 random(std::random_device{}());
  std::uniform_real_distribution<double> within(0, 1);
  std::vector<nanoseconds> phases;
  for (int i = 0; i < run.edges; ++i) {
    const double share = (i + within(random)) / run.edges;
    phases.push_back(std::chrono::duration_cast<nanoseconds>(run.interval * share));
  }
  std::shuffle(phases.begin(), phases.end(), random);
  return phases;
}

// Returns 10 s to start, and twice the time that the edges take. Each rise takes up to two
// intervals. Each fall takes up to one interval and a second.
nanoseconds TimeoutOf(const EdgeRun& run) {
  return std::chrono::seconds(10) + 2 * run.edges * (3 * run.interval + std::chrono::seconds(1));
}

}  // namespace

void TimeEdges(const EdgeRun& run, EdgeSource& source) {
  ActivityWatch watch(run.address, source.Trigger(), TimeoutOf(run));
  for (const nanoseconds phase : Phases(run)) {
    source.Fall();
    watch.OpenWhenIdle();
    // OpenWhenIdle() returns just after the reading that shows the fall, so the phase is relative
    // to a reading.
    std::this_thread::sleep_for(phase);
    const EdgeClock::time_point rose = source.Rise();
    const nanoseconds took = watch.WaitForTrue() - rose;
    std::cout << took.count() << "\n";
  }
}

}  // namespace gpuscaler
