#include "engine/engine_poller.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/fake_clock.h"
#include "gtest/gtest.h"
#include "page/test_footprint.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

// Exceeds the size limit of an exposition.
std::string TooLarge() {
  std::string page;
  page.resize(10'000'000, 'x');
  return page;
}

std::string VllmExposition(int running) {
  return absl::StrCat("vllm:num_requests_running{model_name=\"m\"} ", running,
                      "\nvllm:num_requests_waiting{model_name=\"m\"} 0\n");
}

EngineTarget TargetAt(int port, const std::string& address = "127.0.0.1") {
  return {.at = {.server = {.host = address, .address = *ParseIpAddress(address), .port = port},
                 .path = ""}};
}

struct Reported {
  EngineTarget target;
  absl::Time at;
  std::string engine;
  absl::StatusOr<EngineReading> reading;

  std::optional<double> Running() const {
    return reading.ok() ? ReadingOf(*reading, "")->running : std::nullopt;
  }
};

// The updates of a poller, in their order.
class Updates {
 public:
  EngineReader::Sink Sink() {
    return [this](const EngineTarget& target, const EngineUpdate& update) {
      MutexLock lock(mutex_);
      reported_.push_back({target, update.at, std::string(update.engine), update.reading});
      changed_.NotifyAll();
    };
  }
  // Waits for an update that matches. Returns the newest one, or nullopt after 30 s.
  std::optional<Reported> WaitFor(const std::function<bool(const Reported&)>& is_it) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(30);
    MutexLock lock(mutex_);
    while (true) {
      const auto found = std::find_if(reported_.rbegin(), reported_.rend(), is_it);
      if (found != reported_.rend()) return *found;
      if (real.Now() >= deadline) return std::nullopt;
      changed_.WaitFor(mutex_, deadline - real.Now());
    }
  }
  size_t Count() {
    MutexLock lock(mutex_);
    return reported_.size();
  }
  void Clear() {
    MutexLock lock(mutex_);
    reported_.clear();
  }
  bool WaitForCount(size_t count) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(30);
    MutexLock lock(mutex_);
    while (reported_.size() < count && real.Now() < deadline) {
      changed_.WaitFor(mutex_, deadline - real.Now());
    }
    return reported_.size() >= count;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Reported> reported_ ABSL_GUARDED_BY(mutex_);
};

// Polls are scheduled in real time, even if a FakeClock gives the times of updates.
constexpr absl::Duration kOften = absl::Milliseconds(20);

TEST(EnginePoller, ReportsEachReadingWithItsTime) {
  std::atomic<int> running = 1;
  const TestHttpServer server(
      Serving([&](absl::string_view) { return Answer(VllmExposition(running)); }));
  FakeClock clock;
  Updates updates;
  EnginePoller poller(clock, kOften, updates.Sink());
  poller.Poll({{TargetAt(server.port()), {}}});
  const auto first =
      updates.WaitFor([](const Reported& reported) { return reported.Running() == 1; });
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->engine, "vllm");
  EXPECT_EQ(first->at, clock.Now());
  clock.Advance(absl::Seconds(1));
  running = 2;
  const auto second =
      updates.WaitFor([](const Reported& reported) { return reported.Running() == 2; });
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->at, clock.Now());
  EXPECT_EQ(server.connections(), 1) << "kept for the next poll";
}

TEST(EnginePoller, FirstReadingOfANewTargetComesAtOnce) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer(VllmExposition(1)); }));
  const SteadyClock clock;
  Updates updates;
  EnginePoller poller(clock, absl::Hours(1), updates.Sink());
  poller.Poll({{TargetAt(server.port()), {}}});
  EXPECT_TRUE(updates.WaitForCount(1));
}

TEST(EnginePoller, RemovedTargetIsNotPolled) {
  std::atomic<int> requests = 0;
  const TestHttpServer removed(Serving([&](absl::string_view) {
    ++requests;
    return Answer(VllmExposition(1));
  }));
  const TestHttpServer kept(Serving([](absl::string_view) { return Answer(VllmExposition(2)); }));
  const SteadyClock clock;
  Updates updates;
  EnginePoller poller(clock, kOften, updates.Sink());
  poller.Poll({{TargetAt(removed.port()), {}}, {TargetAt(kept.port()), {}}});
  ASSERT_TRUE(updates.WaitFor([](const Reported& reported) { return reported.Running() == 1; })
                  .has_value());
  poller.Poll({{TargetAt(kept.port()), {}}});
  const size_t had = updates.Count();
  ASSERT_TRUE(updates.WaitForCount(had + 5));  // one more may have been on its way
  const int requests_by_then = requests;
  ASSERT_TRUE(updates.WaitForCount(had + 15));
  EXPECT_EQ(requests, requests_by_then);
}

TEST(EnginePoller, HungServerGetsOneRequestAndDelaysNoOther) {
  const TestHttpServer hanging(SendingAndHanging(""));
  const TestHttpServer good(Serving([](absl::string_view) { return Answer(VllmExposition(1)); }));
  const SteadyClock clock;
  Updates updates;
  EnginePoller poller(clock, kOften, updates.Sink(), {.timeout = absl::Hours(1)});
  poller.Poll({{TargetAt(hanging.port()), {}}, {TargetAt(good.port()), {}}});
  EXPECT_TRUE(updates.WaitForCount(20));
  EXPECT_EQ(hanging.connections(), 1);
}

TEST(EnginePoller, ErrorsAreReported) {
  std::atomic<int> mode = 0;
  const TestHttpServer server(Serving([&](absl::string_view) {
    switch (mode) {
      case 0:
        return Answer(VllmExposition(1));
      case 1:
        return Answer(std::string("\xff\x00\x01garbage", 10));
      case 2:
        return EmptyAnswer(302, "Location: http://169.254.169.254/\r\n");
      case 3:
        return Answer(TooLarge());
      default:
        return EmptyAnswer(503);
    }
  }));
  const SteadyClock clock;
  Updates updates;
  EnginePoller poller(clock, kOften, updates.Sink());
  poller.Poll({{TargetAt(server.port()), {}}});
  const auto says = [&](absl::string_view text) {
    return updates
        .WaitFor([text](const Reported& reported) {
          return absl::StrContains(reported.reading.status().message(), text);
        })
        .has_value();
  };
  ASSERT_TRUE(updates.WaitFor([](const Reported& reported) { return reported.Running() == 1; })
                  .has_value());
  mode = 1;
  EXPECT_TRUE(says("/metrics: line 1: "));
  mode = 2;
  EXPECT_TRUE(says("it answers HTTP 302, to 169.254.169.254"));
  mode = 3;
  EXPECT_TRUE(says("its page is larger than 4 MiB"));
  mode = 4;
  EXPECT_TRUE(says("it answers HTTP 503"));
  updates.Clear();
  mode = 0;
  EXPECT_TRUE(
      updates.WaitFor([](const Reported& reported) { return reported.Running() == 1; }).has_value())
      << "and it is read again";
}

TEST(EnginePoller, TwoHundredEnginesAreAllRead) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer(VllmExposition(1)); }),
                              nullptr, "0.0.0.0");
  const SteadyClock clock;
  Updates updates;
  EnginePoller poller(clock, absl::Milliseconds(500), updates.Sink(),
                      {.timeout = absl::Seconds(20)});
  std::map<EngineTarget, EngineInterest> targets;
  for (int i = 1; i <= 200; ++i) {
    targets.insert({TargetAt(server.port(), absl::StrCat("127.0.0.", i)), {}});
  }
  poller.Poll(targets);
  for (const auto& each_target : targets) {
    const EngineTarget& target = each_target.first;
    const auto reported =
        updates.WaitFor([&](const Reported& each) { return each.target == target; });
    ASSERT_TRUE(reported.has_value()) << target.at.Place();
    EXPECT_EQ(reported->Running(), 1) << reported->reading.status();
  }
}

TEST(EnginePoller, StopsAtOnceWithRequestsInFlight) {
  const TestHttpServer hanging(SendingAndHanging(""), nullptr, "0.0.0.0");
  const SteadyClock clock;
  Updates updates;
  std::optional<EnginePoller> poller;
  poller.emplace(clock, kOften, updates.Sink(), FetchLimits{.timeout = absl::Hours(1)});
  std::map<EngineTarget, EngineInterest> targets;
  for (int i = 1; i <= 50; ++i) {
    targets.insert({TargetAt(hanging.port(), absl::StrCat("127.0.0.", i)), {}});
  }
  poller->Poll(targets);
  const absl::Time deadline = clock.Now() + absl::Seconds(10);
  while (hanging.open() < 50 && clock.Now() < deadline) absl::SleepFor(absl::Milliseconds(1));
  ASSERT_EQ(hanging.open(), 50);
  poller.reset();
  EXPECT_EQ(updates.Count(), 0);
}

EngineTarget TargetNaming(const TestHttpServer& server, const std::string& path,
                          const std::string& engine) {
  EngineTarget target = TargetAt(server.port());
  target.at.path = path;
  target.engine = engine;
  return target;
}

TEST(EnginePoller, ExpositionIsFetchedOncePerServer) {
  std::atomic<int> requests = 0;
  const TestHttpServer server(Serving([&](absl::string_view) {
    ++requests;
    return Answer(VllmExposition(1));
  }));
  const std::vector<EngineTarget> targets = {TargetNaming(server, "", ""),
                                             TargetNaming(server, "", "vllm"),
                                             TargetNaming(server, "/metrics", "vllm")};
  const FakeClock clock;
  Updates updates;
  EnginePoller poller(clock, kOften, updates.Sink());
  std::map<EngineTarget, EngineInterest> interests;
  for (const EngineTarget& target : targets) interests[target] = {};
  poller.Poll(interests);
  ASSERT_TRUE(updates.WaitForCount(60));
  for (const EngineTarget& target : targets) {
    const auto reported =
        updates.WaitFor([&](const Reported& each) { return each.target == target; });
    ASSERT_TRUE(reported.has_value());
    EXPECT_EQ(reported->Running(), 1) << reported->reading.status();
  }
  const int pages = requests;
  // The updates of the newest response may not have arrived. One more missing is tolerated.
  EXPECT_GE(updates.Count(), static_cast<size_t>(3 * (pages - 2)))
      << "each response must yield three updates";
  EXPECT_EQ(server.connections(), 1);
}

TEST(EnginePoller, EachReaderInterpretsTheExpositionByItsTarget) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer(VllmExposition(1)); }));
  const EngineTarget any = TargetNaming(server, "", "");
  const EngineTarget other = TargetNaming(server, "", "sglang");
  const FakeClock clock;
  Updates updates;
  EnginePoller poller(clock, kOften, updates.Sink());
  poller.Poll({{any, {}}, {other, {}}});
  const auto good =
      updates.WaitFor([&](const Reported& reported) { return reported.target == any; });
  const auto bad =
      updates.WaitFor([&](const Reported& reported) { return reported.target == other; });
  ASSERT_TRUE(good.has_value() && bad.has_value());
  EXPECT_EQ(good->Running(), 1);
  EXPECT_FALSE(bad->reading.ok());
}

TEST(EnginePoller, AddedTargetIsReadAtOnce) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer(VllmExposition(1)); }));
  const EngineTarget first = TargetNaming(server, "", "");
  const EngineTarget second = TargetNaming(server, "/metrics", "vllm");
  const FakeClock clock;
  Updates updates;
  EnginePoller poller(clock, absl::Hours(1), updates.Sink());
  poller.Poll({{first, {}}});
  ASSERT_TRUE(updates.WaitFor([&](const Reported& reported) { return reported.target == first; }));
  poller.Poll({{first, {}}, {second, {}}});
  ASSERT_TRUE(updates.WaitFor([&](const Reported& reported) { return reported.target == second; }));
}

// Ten engines: eight that respond, one that cuts each connection in its response, and one that
// responds with binary data.
std::map<EngineTarget, EngineInterest> TargetsOf(const TestHttpServer& good,
                                                 const TestHttpServer& breaking,
                                                 const TestHttpServer& garbage) {
  std::map<EngineTarget, EngineInterest> targets = {{TargetAt(breaking.port()), {}},
                                                    {TargetAt(garbage.port()), {}}};
  for (int i = 1; i <= 8; ++i) {
    targets.insert({TargetAt(good.port(), absl::StrCat("127.0.0.", i)), {.histograms = true}});
  }
  return targets;
}

TEST(EnginePoller, TenThousandPollsLeakNeitherFilesNorMemory) {
  const TestHttpServer good(Serving([](absl::string_view) { return Answer(VllmExposition(1)); }),
                            nullptr, "0.0.0.0");
  const TestHttpServer breaking(
      SendingAndClosing("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nvllm:num_requests"));
  const TestHttpServer garbage(
      Serving([](absl::string_view) { return Answer(std::string("\xff\x00\x01garbage", 10)); }));
  const SteadyClock clock;
  std::atomic<int> polls = 0;
  EnginePoller poller(clock, absl::Milliseconds(2),
                      [&](const EngineTarget&, const EngineUpdate&) { ++polls; },
                      {.timeout = absl::Seconds(20)});
  poller.Poll(TargetsOf(good, breaking, garbage));
  const auto wait_for = [&](int more) {
    const int wanted = polls + more;
    const absl::Time deadline = clock.Now() + absl::Minutes(2);
    while (polls < wanted && clock.Now() < deadline) absl::SleepFor(absl::Milliseconds(1));
    ASSERT_GE(polls, wanted);
  };
  wait_for(1000);
  const int files = OpenFiles();
  const size_t memory = AllocatedBytes();
  wait_for(10'000);
  EXPECT_LE(OpenFiles(), files + 20) << "ten connections, with both ends in this process";
  EXPECT_LE(AllocatedBytes(), memory + (size_t{1} << 20));
}

}  // namespace
}  // namespace gpuscaler
