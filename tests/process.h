// The built program as a child process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/test_folder.h"

namespace gpuscaler {

using Variables = std::map<std::string, std::string>;

// A child process from construction to destruction, which kills it if necessary. Its environment is
// `variables` plus what sanitizers and the loader need. `in_child` runs just before exec, with the
// standard streams in place.
class Process {
 public:
  // `output` is a descriptor for standard output; Out() is then empty.
  explicit Process(const std::vector<std::string>& args, const Variables& variables = {},
                   const std::string& input = "", std::optional<int> output = {},
                   const std::function<void()>& in_child = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::string Out() const;  // so far
  std::string Err() const;

  // Returns details for a failure message: standard error, and the exit status or the kernel
  // function in which each thread waits.
  std::string Diagnostics() const;

  // Returns false if `text` was not on standard error (output) within `timeout`, or the child ended
  // without it.
  bool WaitForErr(const std::string& text, absl::Duration timeout = absl::Seconds(20)) const;
  bool WaitForOut(const std::string& text, absl::Duration timeout = absl::Seconds(20)) const;

  void Signal(int signal) const;
  pid_t pid() const { return pid_; }

  // Returns its exit code, or 128 + n for signal n; empty if it still runs after `timeout`.
  std::optional<int> Wait(absl::Duration timeout = absl::Seconds(20));

 private:
  bool Ended() const;

  const TestFolder folder_;
  pid_t pid_ = -1;
  std::optional<int> code_;
};

struct Finished {
  int code;
  std::string out;
  std::string err;
};
Finished RunProgram(const std::vector<std::string>& args, const Variables& variables = {},
                    const std::string& input = "");

// `serve` on free ports. The constructor waits until it is ready.
class Server {
 public:
  explicit Server(std::vector<std::string> args, const Variables& variables = {},
                  const std::function<void()>& in_child = {});

  Process& process() { return process_; }
  const Process& process() const { return process_; }
  int Port(const std::string& which) const;  // "grpc", "metrics", "probe"
  std::string Address() const;               // the gRPC port's
  bool Ready() const { return ready_; }

 private:
  Process process_;
  bool ready_;
};

// Returns true once `condition` is true, or false after `timeout`.
template <typename Condition>
bool Eventually(const Condition& condition, absl::Duration timeout = absl::Seconds(20));

// Returns true once one of three attempts is true: for timing checks on a machine that is sometimes
// slow.
template <typename Attempt>
bool OnceInThree(const Attempt& attempt) {
  return attempt() || attempt() || attempt();
}

// Returns a new folder, deleted when the tests' process ends.
std::string NewTestFolder();
// Returns a new file in a new folder.
std::string WriteTestFile(const std::string& name, const std::string& content);
void ReplaceFile(const std::string& path, const std::string& content);  // atomic, by rename

}  // namespace gpuscaler

#include "absl/time/clock.h"

namespace gpuscaler {

template <typename Condition>
bool Eventually(const Condition& condition, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

}  // namespace gpuscaler
