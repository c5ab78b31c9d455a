// Measures the time from busy GPUs to KEDA's notification (edge_timing.h).
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>

#include "edge_timing.h"

namespace gpuscaler {
namespace {

// The scaler's GPU file, with the contents of `idle` or `busy`.
class GpuFile : public EdgeSource {
 public:
  GpuFile(std::filesystem::path file, std::filesystem::path idle, std::filesystem::path busy)
      : file_(std::move(file)), idle_(std::move(idle)), busy_(std::move(busy)) {}

  std::map<std::string, std::string> Trigger() const override {
    return {
        {"scope", "node"}, {"window", "0s"}, {"activationWindow", "0s"}, {"warmupSeconds", "0"}};
  }

  EdgeClock::time_point Rise() override {
    Show(busy_);
    return EdgeClock::now();
  }

  void Fall() override { Show(idle_); }

 private:
  // Replaces the file atomically.
  void Show(const std::filesystem::path& contents) const {
    const std::filesystem::path next = file_.string() + ".next";
    std::filesystem::copy_file(contents, next, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(next, file_);
  }

  const std::filesystem::path file_, idle_, busy_;
};

}  // namespace
}  // namespace gpuscaler

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: edge_client ADDRESS GPU_FILE IDLE_FILE BUSY_FILE INTERVAL_MS EDGES\n";
    return 2;
  }
  try {
    gpuscaler::GpuFile gpus(argv[2], argv[3], argv[4]);
    gpuscaler::TimeEdges({.address = argv[1],
                          .interval = std::chrono::milliseconds(std::atoi(argv[5])),
                          .edges = std::atoi(argv[6])},
                         gpus);
  } catch (const std::exception& error) {
    std::cerr << "edge_client: " << error.what() << "\n";
    return 3;
  }
}
