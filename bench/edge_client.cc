// How long after the GPUs became busy KEDA is told: makes the edges, and holds the stream.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "externalscaler.grpc.pb.h"

namespace {

using Clock = std::chrono::steady_clock;
using externalscaler::IsActiveResponse;
using std::chrono::nanoseconds;

struct Arguments {
  std::string address;
  std::filesystem::path gpu_file;  // what the scaler reads; `idle` and `busy` are its contents
  std::filesystem::path idle;
  std::filesystem::path busy;
  nanoseconds interval;  // the scaler's, between two readings
  int edges;
};

// Neither window nor warm-up: what is measured is the way through the scaler.
externalscaler::ScaledObjectRef Trigger() {
  externalscaler::ScaledObjectRef ref;
  ref.set_name("edge");
  ref.set_namespace_("bench");
  auto& metadata = *ref.mutable_scalermetadata();
  metadata["scope"] = "node";
  metadata["window"] = "0s";
  metadata["activationWindow"] = "0s";
  metadata["warmupSeconds"] = "0";
  return ref;
}

class ActivityWatch {
 public:
  ActivityWatch(const std::string& address, Clock::duration patience)
      : stub_(externalscaler::ExternalScaler::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
    context_.set_deadline(std::chrono::system_clock::now() + patience);
    stream_ = stub_->StreamIsActive(&context_, Trigger());
  }

  // When `active` arrived; throws when the stream ended first.
  Clock::time_point WaitFor(bool active) {
    IsActiveResponse response;
    while (stream_->Read(&response)) {
      if (response.result() == active) return Clock::now();
    }
    throw std::runtime_error("the stream ended: " + stream_->Finish().error_message());
  }

 private:
  const std::unique_ptr<externalscaler::ExternalScaler::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<IsActiveResponse>> stream_;
};

// As soon as it returns every reading finds `contents`, whole.
void Show(const Arguments& arguments, const std::filesystem::path& contents) {
  const std::filesystem::path next = arguments.gpu_file.string() + ".next";
  std::filesystem::copy_file(contents, next, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::rename(next, arguments.gpu_file);
}

// One in each `edges`-th of the interval, in random order: even, yet tied to no other period.
std::vector<nanoseconds> Phases(const Arguments& arguments) {
  std::mt19937_64 random(std::random_device{}());
  std::uniform_real_distribution<double> within(0, 1);
  std::vector<nanoseconds> phases;
  for (int i = 0; i < arguments.edges; ++i) {
    const double share = (i + within(random)) / arguments.edges;
    phases.push_back(std::chrono::duration_cast<nanoseconds>(arguments.interval * share));
  }
  std::shuffle(phases.begin(), phases.end(), random);
  return phases;
}

// A line for each edge: nanoseconds from the rename to the arrival of `true`.
void Run(const Arguments& arguments) {
  // Twice what it takes: an edge up and the one down need two intervals.
  ActivityWatch watch(arguments.address,
                      4 * arguments.edges * arguments.interval + std::chrono::seconds(10));
  Show(arguments, arguments.idle);
  watch.WaitFor(false);
  for (const nanoseconds phase : Phases(arguments)) {
    std::this_thread::sleep_for(phase);  // from a reading on: what was pushed had just been read
    Show(arguments, arguments.busy);
    const Clock::time_point became_busy = Clock::now();
    const nanoseconds took = watch.WaitFor(true) - became_busy;
    std::cout << took.count() << "\n";
    Show(arguments, arguments.idle);
    watch.WaitFor(false);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: edge_client ADDRESS GPU_FILE IDLE_FILE BUSY_FILE INTERVAL_MS EDGES\n";
    return 2;
  }
  try {
    Run({.address = argv[1],
         .gpu_file = argv[2],
         .idle = argv[3],
         .busy = argv[4],
         .interval = std::chrono::milliseconds(std::atoi(argv[5])),
         .edges = std::atoi(argv[6])});
  } catch (const std::exception& error) {
    std::cerr << "edge_client: " << error.what() << "\n";
    return 3;
  }
}
