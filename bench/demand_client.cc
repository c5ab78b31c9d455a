// Measures the time from the start of a waiting request to KEDA's notification (edge_timing.h).
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "edge_timing.h"
#include "waiting_request.h"

namespace gpuscaler {
namespace {

std::unique_ptr<EdgeSource> Source(const std::string& place, int port) {
  if (place == "engine") return RequestAtEngine(port);
  if (place == "redis") return JobInRedis(port);
  if (place == "gateway") return RequestAtGateway();
  throw std::invalid_argument("requests wait at engine, redis or gateway");
}

}  // namespace
}  // namespace gpuscaler

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: demand_client ADDRESS INTERVAL_MS EDGES engine|redis|gateway PORT\n";
    return 2;
  }
  try {
    const auto source = gpuscaler::Source(argv[4], std::atoi(argv[5]));
    gpuscaler::TimeEdges({.address = argv[1],
                          .interval = std::chrono::milliseconds(std::atoi(argv[2])),
                          .edges = std::atoi(argv[3])},
                         *source);
  } catch (const std::exception& error) {
    std::cerr << "demand_client: " << error.what() << "\n";
    return 3;
  }
}
