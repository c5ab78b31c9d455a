// The cost of polling many engines, and the age of their readings.
//
//   engine_polls ENGINES HANGING SECONDS
//
// Serves ENGINES engines in a child process, each at its own address, and polls each every second.
// HANGING of them accept the connection and never answer. Prints one JSON object: CPU and memory of
// the poller only, and ages of the latest readings of answering engines, sampled every 20 ms.
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "engine/engine_poller.h"
#include "engine_exposition.h"

namespace gpuscaler {
namespace {

constexpr size_t kPageBytes = size_t{48} << 10;  // vLLM's with one model
constexpr absl::Duration kInterval = absl::Seconds(1);
constexpr absl::Duration kSampleInterval = absl::Milliseconds(20);

int ListenAnywhere(int* port) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = {.sin_family = AF_INET};
  if (bind(listening, reinterpret_cast<sockaddr*>(&at), sizeof(at)) != 0 ||
      listen(listening, 4096) != 0) {
    std::perror("listen");
    std::exit(1);
  }
  socklen_t size = sizeof(at);
  getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size);
  *port = ntohs(at.sin_port);
  return listening;
}

MHD_Result AnswerPage(void* page, MHD_Connection* connection, const char*, const char*, const char*,
                      const char*, size_t*, void**) {
  return MHD_queue_response(connection, MHD_HTTP_OK, static_cast<MHD_Response*>(page));
}

// The engines' process; ends with its parent.
pid_t ServeEngines(int listening) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string page = EngineExpositionOf(kPageBytes);
  MHD_Response* const response =
      MHD_create_response_from_buffer(page.size(), page.data(), MHD_RESPMEM_PERSISTENT);
  MHD_add_response_header(response, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &AnswerPage, response,
                   MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, 10'000u,
                   MHD_OPTION_END);
  while (true) pause();
}

double CpuSeconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int64_t ResidentKib() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE) / 1024;
}

std::string AddressOf(int engine) {
  return absl::StrCat("127.1.", engine / 250, ".", engine % 250 + 1);
}

EngineTarget TargetAt(int engine, int port) {
  const std::string address = AddressOf(engine);
  return {.at = {.server = {.host = address, .address = *ParseIpAddress(address), .port = port},
                 .path = ""}};
}

// The time of the last reading of each answering engine. Thread-safe.
class LastRead {
 public:
  void Take(const EngineTarget& target, const EngineUpdate& update) {
    if (!update.reading.ok()) return;
    MutexLock lock(mutex_);
    ++readings_;
    at_[target] = update.at;
  }
  void AddAges(absl::Time now, std::vector<double>& milliseconds) const {
    MutexLock lock(mutex_);
    for (const auto& [target, at] : at_) {
      milliseconds.push_back(absl::ToDoubleMilliseconds(now - at));
    }
  }
  size_t Known() const {
    MutexLock lock(mutex_);
    return at_.size();
  }
  int64_t readings() const {
    MutexLock lock(mutex_);
    return readings_;
  }

 private:
  mutable Mutex mutex_;
  std::map<EngineTarget, absl::Time> at_ ABSL_GUARDED_BY(mutex_);
  int64_t readings_ ABSL_GUARDED_BY(mutex_) = 0;
};

double NearestRank(const std::vector<double>& ordered, double percent) {
  const double rank = std::ceil(static_cast<double>(ordered.size()) * percent / 100);
  return ordered[static_cast<size_t>(rank) - 1];
}

int Measure(int engines, int hanging, absl::Duration how_long) {
  int port = 0, hanging_port = 0;
  const int listening = ListenAnywhere(&port);
  const int silent = ListenAnywhere(&hanging_port);
  const pid_t server = ServeEngines(listening);
  close(listening);
  const int64_t resident_before = ResidentKib();
  const SteadyClock clock;
  LastRead last;
  std::map<EngineTarget, EngineInterest> targets;
  for (int engine = 0; engine < engines; ++engine) {
    targets.insert({TargetAt(engine, engine < hanging ? hanging_port : port), {}});
  }
  const auto answering = static_cast<size_t>(engines - hanging);
  int result = EXIT_FAILURE;
  {
    EnginePoller poller(clock, kInterval,
                        [&last](const EngineTarget& target, const EngineUpdate& update) {
                          last.Take(target, update);
                        });
    poller.Poll(targets);
    const absl::Time deadline = clock.Now() + absl::Seconds(20);
    while (last.Known() < answering && clock.Now() < deadline) absl::SleepFor(kSampleInterval);
    absl::SleepFor(2 * kInterval);  // all first connections are established
    std::vector<double> ages;
    const double cpu = CpuSeconds();
    const int64_t readings = last.readings();
    const absl::Time began = clock.Now();
    while (clock.Now() < began + how_long) {
      absl::SleepFor(kSampleInterval);
      last.AddAges(clock.Now(), ages);
    }
    const double seconds = absl::ToDoubleSeconds(clock.Now() - began);
    std::ranges::sort(ages);
    if (last.Known() == answering && !ages.empty()) {
      std::printf(
          "{\"engines\": %d, \"hanging\": %d, \"page_bytes\": %zu, \"readings_per_second\": %.1f, "
          "\"cpu_percent_of_a_core\": %.2f, \"rss_kib\": %ld, \"rss_kib_before\": %ld, "
          "\"age_p50_ms\": %.0f, \"age_p99_ms\": %.0f, \"age_max_ms\": %.0f}\n",
          engines, hanging, EngineExpositionOf(kPageBytes).size(),
          static_cast<double>(last.readings() - readings) / seconds,
          100 * (CpuSeconds() - cpu) / seconds, static_cast<long>(ResidentKib()),
          static_cast<long>(resident_before), NearestRank(ages, 50), NearestRank(ages, 99),
          ages.back());
      result = EXIT_SUCCESS;
    } else {
      std::fprintf(stderr, "only %zu of %zu engines were read\n", last.Known(), answering);
    }
  }
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  close(silent);
  return result;
}

}  // namespace
}  // namespace gpuscaler

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: engine_polls ENGINES HANGING SECONDS\n");
    return EXIT_FAILURE;
  }
  return gpuscaler::Measure(std::atoi(argv[1]), std::atoi(argv[2]),
                            absl::Seconds(std::atoi(argv[3])));
}
