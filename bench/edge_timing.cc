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

// A stream as KEDA holds it: when the scaler ends it, which it does every few minutes, there is a
// new one at once.
class ActivityWatch {
 public:
  ActivityWatch(const std::string& address, const std::map<std::string, std::string>& trigger,
                EdgeClock::duration staleness)
      : staleness_(staleness),
        stub_(externalscaler::ExternalScaler::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
    ref_.set_name("edge");
    ref_.set_namespace_("bench");
    ref_.mutable_scalermetadata()->insert(trigger.begin(), trigger.end());
    Open();
  }

  // When `active` arrived; throws when it does not.
  EdgeClock::time_point WaitFor(bool active) {
    IsActiveResponse response;
    while (true) {
      while (call_->stream->Read(&response)) {
        if (response.result() == active) return EdgeClock::now();
      }
      const grpc::Status ended = call_->stream->Finish();
      if (!ended.ok()) throw std::runtime_error("the stream ended: " + ended.error_message());
      Open();
    }
  }

 private:
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<IsActiveResponse>> stream;
  };

  void Open() {
    call_ = std::make_unique<Call>();
    call_->context.set_deadline(std::chrono::system_clock::now() + staleness_);
    call_->stream = stub_->StreamIsActive(&call_->context, ref_);
  }

  const EdgeClock::duration staleness_;
  const std::unique_ptr<externalscaler::ExternalScaler::Stub> stub_;
  externalscaler::ScaledObjectRef ref_;
  std::unique_ptr<Call> call_;
};

// One in each `edges`-th of the interval, in random order: even, yet tied to no other period.
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

// Twice what it takes: an edge up needs two intervals, and that down another and a second, as a
// scaler looks at what is active once a second.
nanoseconds StalenessLimits(const EdgeRun& run) {
  return std::chrono::seconds(10) + 2 * run.edges * (3 * run.interval + std::chrono::seconds(1));
}

}  // namespace

void TimeEdges(const EdgeRun& run, EdgeSource& source) {
  ActivityWatch watch(run.address, source.Trigger(), StalenessLimits(run));
  source.Fall();
  watch.WaitFor(false);
  for (const nanoseconds phase : Phases(run)) {
    std::this_thread::sleep_for(phase);  // from a reading on: what was pushed had just been read
    const EdgeClock::time_point rose = source.Rise();
    const nanoseconds took = watch.WaitFor(true) - rose;
    std::cout << took.count() << "\n";
    source.Fall();
    watch.WaitFor(false);
  }
}

}  // namespace gpuscaler
