#include "process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

std::string ReadAll(const std::string& path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

// Adds the environment that the child needs to start.
Variables WithLoader(Variables variables) {
  for (const char* name : {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) variables.emplace(name, value);
  }
  return variables;
}

void Redirect(const char* path, int flags, int descriptor) {
  const int file = open(path, flags, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
}

// Returns "name state=S (sleeping) wchan=ep_poll" for each thread, a line each.
std::string ThreadsOf(pid_t pid) {
  std::string lines;
  std::error_code gone;
  const std::string tasks = absl::StrCat("/proc/", pid, "/task");
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
    const std::string folder = task.path().string();
    std::ifstream status(folder + "/status");
    std::string name, line, state;
    std::getline(status, name);
    while (state.empty() && std::getline(status, line)) {
      if (line.rfind("State:", 0) == 0) state = line;
    }
    absl::StrAppend(&lines, name, " ", state, " wchan: ", ReadAll(folder + "/wchan"),
                    " syscall: ", ReadAll(folder + "/syscall"), "\n");
  }
  return lines;
}

const TestFolder& OfAllTests() {
  static const TestFolder folder;
  return folder;
}

// Returns a name that is not yet used in OfAllTests().
std::string NewName() {
  static std::atomic<int> made = 0;
  return absl::StrCat(++made);
}

}  // namespace

std::string NewTestFolder() { return OfAllTests().AddFolder(NewName()); }

std::string WriteTestFile(const std::string& name, const std::string& content) {
  return OfAllTests().Write(absl::StrCat(NewName(), "/", name), content);
}

namespace {

const char* BinaryOf(const std::vector<std::string>& args) {
  const bool is_of_lab =
      !args.empty() && (args[0] == "demo" || args[0] == "engine" || args[0] == "load");
  return is_of_lab ? GPUSCALER_LAB_BINARY : GPUSCALER_BINARY;
}

}  // namespace

Process::Process(const std::vector<std::string>& args, const Variables& variables,
                 const std::string& input, std::optional<int> output,
                 const std::function<void()>& in_child) {
  const std::string in = folder_.Write("in", input), out = folder_.PathOf("out"),
                    err = folder_.PathOf("err");
  const char* const binary = BinaryOf(args);
  std::vector<std::string> words = {binary};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<std::string> settings;
  for (const auto& [name, value] : WithLoader(variables)) {
    settings.push_back(absl::StrCat(name, "=", value));
  }
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& setting : settings) envp.push_back(setting.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  // Another thread may have held any lock at fork(), so nothing is allocated from here on.
  Redirect(in.c_str(), O_RDONLY, STDIN_FILENO);
  if (!output) {
    Redirect(out.c_str(), O_WRONLY | O_CREAT, STDOUT_FILENO);
  } else if (dup2(*output, STDOUT_FILENO) < 0) {
    _exit(126);
  }
  Redirect(err.c_str(), O_WRONLY | O_CREAT, STDERR_FILENO);
  if (in_child) in_child();
  execve(binary, argv.data(), envp.data());
  _exit(127);
}

Process::~Process() {
  if (!code_) {
    kill(pid_, SIGKILL);
    Wait();
  }
}

std::string Process::Out() const { return ReadAll(folder_.PathOf("out")); }
std::string Process::Err() const { return ReadAll(folder_.PathOf("err")); }

std::string Process::Diagnostics() const {
  const std::string state = Ended() ? "It has ended.\n" : ThreadsOf(pid_);
  return absl::StrCat("Standard error:\n", Err(), state);
}

bool Process::Ended() const {
  siginfo_t info = {};
  return code_.has_value() ||
         (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_);
}

bool Process::WaitForErr(const std::string& text, absl::Duration timeout) const {
  const auto there = [&] { return Err().find(text) != std::string::npos; };
  Eventually([&] { return there() || Ended(); }, timeout);
  return there();
}

bool Process::WaitForOut(const std::string& text, absl::Duration timeout) const {
  const auto there = [&] { return Out().find(text) != std::string::npos; };
  Eventually([&] { return there() || Ended(); }, timeout);
  return there();
}

void Process::Signal(int signal) const { kill(pid_, signal); }

std::optional<int> Process::Wait(absl::Duration timeout) {
  if (code_) return code_;
  int status = 0;
  if (!Eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, timeout)) {
    return std::nullopt;
  }
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

Finished RunProgram(const std::vector<std::string>& args, const Variables& variables,
                    const std::string& input) {
  Process process(args, variables, input);
  const int code = process.Wait(absl::Seconds(60)).value_or(-1);
  return {.code = code, .out = process.Out(), .err = process.Err()};
}

namespace {

std::vector<std::string> OnFreePorts(std::vector<std::string> args) {
  const bool is_agent = std::ranges::find(args, "--role=agent") != args.end();
  std::vector<std::string> all = {"serve", is_agent ? "--telemetry-port=any" : "--port=any",
                                  "--metrics-port=any", "--probe-port=any",
                                  "--bind-address=127.0.0.1"};
  if (!is_agent) all.emplace_back("--web-port=any");
  for (std::string& arg : args) all.push_back(std::move(arg));
  return all;
}

}  // namespace

Server::Server(std::vector<std::string> args, const Variables& variables,
               const std::function<void()>& in_child)
    : process_(OnFreePorts(std::move(args)), variables, "", {}, in_child),
      ready_(process_.WaitForErr("event=serving", absl::Minutes(1))) {}

int Server::Port(const std::string& which) const {
  const std::string log = process_.Err();
  const std::string key = absl::StrCat(" ", which, "_port=");
  const size_t at = log.find(key);
  return at == std::string::npos ? 0 : std::atoi(log.c_str() + at + key.size());
}

std::string Server::Address() const { return absl::StrCat("127.0.0.1:", Port("grpc")); }

void ReplaceFile(const std::string& path, const std::string& content) {
  const std::string next = path + ".next";
  std::ofstream(next) << content;
  std::filesystem::rename(next, path);
}

}  // namespace gpuscaler
