#include "engine/scraped_number_poller.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

const SignalSource kQueueSize{
    .namespace_name = "team-a",
    .target = MetricsEndpoint{.url = "http://gateway", .selector = "queue_size"}};

// The reported numbers in their order. Thread-safe.
class ReportedNumbers {
 public:
  void Take(const absl::StatusOr<CounterPoint>& number) {
    MutexLock lock(mutex_);
    numbers_.push_back(number.ok() ? number->value : -1);
    changed_.NotifyAll();
  }
  // Waits for `count` numbers. Returns those that there are after 10 s otherwise.
  std::vector<double> WaitFor(size_t count) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    MutexLock lock(mutex_);
    while (numbers_.size() < count && real.Now() < deadline) {
      changed_.WaitFor(mutex_, deadline - real.Now());
    }
    return numbers_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<double> numbers_ ABSL_GUARDED_BY(mutex_);
};

// Blocks threads until it is opened. Thread-safe.
class Gate {
 public:
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (!open_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(ScrapedNumberPoller, ResultOfAReplacedRequestIsDropped) {
  Gate requested, released, responded;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    while (true) {
      const std::string head = connection.ReadRequest();
      if (head.empty()) return;
      const bool is_old = absl::StrContains(head, "Bearer old");
      if (is_old) {
        requested.Open();
        released.Wait();
      }
      if (!connection.Send(Answer(is_old ? "queue_size 5000\n" : "queue_size 7\n"))) return;
      if (is_old) responded.Open();
    }
  });
  const SteadyClock clock;
  ReportedNumbers reported;
  ScrapedNumberPoller poller(
      clock, {.interval = absl::Milliseconds(20), .max_gap = absl::Seconds(5)},
      [&](const SignalSource&, const IpAddress&, const absl::StatusOr<CounterPoint>& number) {
        reported.Take(number);
      });
  const ScrapeRequest old_one{
      .server = {.host = "gateway", .address = *ParseIpAddress("127.0.0.1"), .port = server.port()},
      .bearer_token = "old"};
  ScrapeRequest new_one = old_one;
  new_one.bearer_token = "new";
  const NumbersInterest interest{{kQueueSize, *ParseMetricSelector("queue_size")}};

  poller.Poll({{old_one, interest}});
  requested.Wait();
  poller.Poll({{new_one, interest}});
  const size_t before = reported.WaitFor(1).size();
  released.Open();
  responded.Wait();
  const std::vector<double> numbers = reported.WaitFor(before + 10);
  EXPECT_GE(numbers.size(), before + 10);
  EXPECT_EQ(std::ranges::count(numbers, 5000), 0);
}

}  // namespace
}  // namespace gpuscaler
