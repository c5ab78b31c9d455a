// The agents of a fleet, or a part of them, in one process. Each has its own port and sends the
// messages of a real one, with the real log of readings and streams; only its driver is simulated.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/log.h"
#include "fleet/open_readers.h"
#include "fleet/telemetry_log.h"
#include "fleet/watch_stream.h"
#include "simulated_fleet.h"
#include "telemetry.pb.h"
#include "trigger/trigger.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

constexpr absl::Duration kInterval = absl::Seconds(1);
// How often an agent checks whether a heartbeat is due, for each reading.
constexpr int kChecksPerReading = 5;
constexpr absl::Duration kHeartbeat = absl::Milliseconds(1500);  // default of telemetry_service.h
constexpr int kMaxReaders = 16;                                  // per agent
// As for an agent with --poll-interval 1s (role/agent.cc).
constexpr absl::Duration kStaleAfter = absl::Seconds(5);

int64_t MonotonicNanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The agents' clock. It stands still until the fleet serves, however long the past readings take to
// make, so the newest of them is exactly one interval old then. An aggregator does not depend on
// the clock's absolute time.
class FleetClock : public Clock {
 public:
  absl::Time Now() const override {
    const int64_t started = started_ns_;
    return kBegan + absl::Nanoseconds(started == 0 ? 0 : MonotonicNanoseconds() - started);
  }
  void Start() { started_ns_ = MonotonicNanoseconds(); }

 private:
  static constexpr absl::Time kBegan = absl::FromUnixSeconds(1'767'225'600);
  std::atomic<int64_t> started_ns_ = 0;
};

// Prints a whole line to standard output.
void PrintLine(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::cout << line << std::endl;
}

class Agent {
 public:
  Agent(const Clock& clock, int number, bool busy)
      : clock_(clock),
        node_(number, busy),
        log_(kLongestWindow + kStaleAfter, Self(number)),
        context_{.clock = clock, .heartbeat = kHeartbeat} {}

  // Adds readings before the first one, one for each interval of `past`.
  void Remember(absl::Duration past) {
    for (int64_t reading = -(past / kInterval); reading < 0; ++reading) {
      log_.Add(node_.Read(reading, clock_.Now() + reading * kInterval));
    }
  }

  void Read(int64_t reading) {
    const int rising = node_.RisingAt(reading);
    if (rising >= 0)
      PrintLine(absl::StrCat("edge ", WorkloadName(rising), " ", MonotonicNanoseconds()));
    log_.Add(node_.Read(reading, clock_.Now()));
  }

  void Refresh() {
    log_.FillParts();
    for (const auto& reader : readers_.Readers()) reader->Refresh();
  }

  // Returns its port, or 0 if none is free.
  int Serve() {
    auto server = WireServer::Start(
        {.bind_address = "127.0.0.1"},
        {{"/gpuscaler.telemetry.v1.NodeTelemetry/Watch",
          [this](const std::shared_ptr<ServerCall>& call) {
            return readers_.Open(std::make_shared<WatchStream>(
                context_, call, [this](const auto* ended) { readers_.Closed(ended); }, log_,
                [this](const std::set<std::string>& namespaces, const WatchStream&) {
                  return log_.LogOf(namespaces, true);
                },
                [](const wire::Subscription&, const WatchStream&) {}));
          }}});
    if (!server.ok()) return 0;
    server_ = *std::move(server);
    return server_->port();
  }

  int64_t messages() const { return context_.messages; }
  int64_t bytes() const { return context_.bytes; }

 private:
  static wire::Node Self(int number) {
    wire::Node self;
    self.set_agent_version("bench");
    self.set_instance(static_cast<uint64_t>(number) + 1);
    return self;
  }

  const Clock& clock_;
  SimulatedNode node_;
  TelemetryLog log_;
  ReaderContext context_;
  OpenReaders<WatchStream> readers_{clock_, kMaxReaders, nullptr};
  std::unique_ptr<WireServer> server_;
};

using Agents = std::vector<std::unique_ptr<Agent>>;

// Runs all agents on one thread. Each reads once a second and checks for heartbeats five times, at
// its own phase.
class AgentLoop {
 public:
  explicit AgentLoop(const Agents& agents) : agents_(agents) {}

  void Run() {
    const absl::Duration turn = kInterval / kChecksPerReading;
    const absl::Time began = absl::Now();
    const auto count = static_cast<int64_t>(agents_.size());
    for (int64_t visit = 0;; ++visit) {
      const absl::Time due = began + visit * turn / count;
      const absl::Duration early = due - absl::Now();
      // A timer fires about 0.1 ms late, so a shorter wait is left out: the visit is early. A delay
      // counts only if there was nothing to wait for.
      if (early > absl::Microseconds(200)) {
        absl::SleepFor(early);
      } else if (-early > absl::Nanoseconds(longest_delay_ns_.load())) {
        longest_delay_ns_ = absl::ToInt64Nanoseconds(-early);
      }
      const int64_t number = visit % count;
      Agent& agent = *agents_[static_cast<size_t>(number)];
      // A fifth of the agents read in each turn.
      const int64_t check = visit / count + number % kChecksPerReading;
      if (check % kChecksPerReading == 0) agent.Read(check / kChecksPerReading);
      agent.Refresh();
    }
  }

  // Returns the longest delay since the last call.
  int64_t TakeLongestDelayMicroseconds() { return longest_delay_ns_.exchange(0) / 1000; }

 private:
  const Agents& agents_;
  std::atomic<int64_t> longest_delay_ns_ = 0;
};

void RememberAll(const Agents& agents, absl::Duration past) {
  const size_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> remembering;
  for (size_t first = 0; first < threads; ++first) {
    remembering.emplace_back([&agents, past, first, threads] {
      for (size_t i = first; i < agents.size(); i += threads) agents[i]->Remember(past);
    });
  }
  for (std::thread& thread : remembering) thread.join();
}

// Each agent has a listening socket, a connection and the descriptors of an event loop: 8 are
// enough.
bool HasFilesFor(size_t agents) {
  const rlim_t needed = 8 * agents + 200;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= needed) return true;
  std::cerr << "fleet_agents: " << needed << " open files needed, " << limit.rlim_cur
            << " allowed\n";
  return false;
}

int Run(size_t first, size_t count, bool busy, absl::Duration past) {
  if (!HasFilesFor(count)) return 3;
  FleetClock clock;
  Agents agents;
  for (size_t number = first; number < first + count; ++number) {
    agents.push_back(std::make_unique<Agent>(clock, static_cast<int>(number), busy));
  }
  RememberAll(agents, past);
  std::vector<std::string> addresses;
  for (const auto& agent : agents) {
    const int port = agent->Serve();
    if (port == 0) return 3;
    addresses.push_back(absl::StrCat("127.0.0.1:", port));
  }
  clock.Start();
  AgentLoop loop(agents);
  std::thread([&loop] { loop.Run(); }).detach();
  PrintLine(absl::StrCat("serving ", absl::StrJoin(addresses, ",")));
  std::string line;
  while (std::getline(std::cin, line)) {
    int64_t messages = 0;
    int64_t bytes = 0;
    for (const auto& agent : agents) {
      messages += agent->messages();
      bytes += agent->bytes();
    }
    PrintLine(
        absl::StrCat("sent ", messages, " ", bytes, " ", loop.TakeLongestDelayMicroseconds()));
  }
  std::_Exit(0);  // the caller has ended, and everything here with it
}

}  // namespace
}  // namespace gpuscaler

// Prints "serving HOST:PORT,HOST:PORT...", "edge WORKLOAD NANOSECONDS" when a reading shows that a
// workload became busy (CLOCK_MONOTONIC), and for each line of standard input "sent MESSAGES BYTES
// LATENESS_US". FIRST is the number of its first node in the fleet. Ends at the end of standard
// input.
int main(int argc, char** argv) {
  const std::string mode = argc == 5 ? argv[3] : "";
  if (mode != "idle" && mode != "busy") {
    std::cerr << "usage: fleet_agents FIRST COUNT idle|busy SECONDS_OF_PAST\n";
    return 2;
  }
  gpuscaler::StartLogging(gpuscaler::LogLevel::kWarn, gpuscaler::LogFormat::kText);
  return gpuscaler::Run(static_cast<size_t>(std::atoi(argv[1])),
                        static_cast<size_t>(std::atoi(argv[2])), mode == "busy",
                        absl::Seconds(std::atoi(argv[4])));
}
