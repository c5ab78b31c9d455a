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

// Runs from construction to destruction, which kills it if need be. The child's environment is
// `variables` alone, with what sanitizers and the loader need. `in_child` runs just before the
// program does, with its standard streams in place.
class Process {
 public:
  // `output` is a descriptor for standard output in place of what Out() reads.
  explicit Process(const std::vector<std::string>& args, const Variables& variables = {},
                   const std::string& input = "", std::optional<int> output = {},
                   const std::function<void()>& in_child = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::string Out() const;  // so far
  std::string Err() const;

  // For a test that waited for it in vain: standard error, and the end it came to, or where in the
  // kernel each of its threads is.
  std::string Story() const;

  // False when `text` was not on standard error (output) within `patience`, or the child ended
  // without it.
  bool WaitForErr(const std::string& text, absl::Duration timeout = absl::Seconds(20)) const;
  bool WaitForOut(const std::string& text, absl::Duration timeout = absl::Seconds(20)) const;

  void Signal(int signal) const;
  pid_t pid() const { return pid_; }

  // Its exit code, 128 + n for signal n; empty when it still ran after `patience`.
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

// `serve` on free ports, ready.
class Server {
 public:
  explicit Server(std::vector<std::string> args, const Variables& variables = {},
                  const std::function<void()>& in_child = {});

  Process& process() { return process_; }
  const Process& process() const { return process_; }
  int Port(const std::string& which) const;  // "grpc", "metrics", "probe"
  std::string Address() const;               // of the gRPC port
  bool Ready() const { return ready_; }

 private:
  Process process_;
  bool ready_;
};

// True as soon as `condition` is; false when it never was within `patience`.
template <typename Condition>
bool Eventually(const Condition& condition, absl::Duration timeout = absl::Seconds(20));

// True as soon as one of three attempts is: for what has to be quick, on a machine that is slow at
// times.
template <typename Attempt>
bool OnceInThree(const Attempt& attempt) {
  return attempt() || attempt() || attempt();
}

// A new folder, which lasts until the tests' process ends.
std::string NewTestFolder();
// A new file in such a folder of its own.
std::string WriteTestFile(const std::string& name, const std::string& content);
void ReplaceFile(const std::string& path, const std::string& content);  // by rename

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
