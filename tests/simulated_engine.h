// `engine` as a child process, and its client.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "process.h"
#include "serve/test_http_client.h"

namespace gpuscaler {

class SimulatedEngine {
 public:
  explicit SimulatedEngine(const std::vector<std::string>& args) : process_(OnAnyPort(args)) {}

  Process& process() { return process_; }
  const Process& process() const { return process_; }

  bool Serving() const { return process_.WaitForErr("event=serving", absl::Minutes(1)); }

  // Available before it serves.
  int Port() const {
    if (!process_.WaitForErr("event=loading")) return 0;
    const std::string log = process_.Err();
    const size_t at = log.find(" port=");
    return at == std::string::npos ? 0 : std::atoi(log.c_str() + at + 6);
  }
  std::string Url() const { return absl::StrCat("http://127.0.0.1:", Port()); }

  // Returns the reply with its header, or the error.
  absl::StatusOr<std::string> Get(absl::string_view path) const {
    auto client = TestHttpClient::Open(Port());
    if (!client.ok()) return client.status();
    (*client)->Send(
        absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    return (*client)->ReadAll();
  }

  // Sends a completion request that waits for its answer. Closing the connection ends it.
  std::unique_ptr<TestHttpClient> Complete(int max_tokens) const {
    auto client = TestHttpClient::Open(Port());
    if (!client.ok()) return nullptr;
    const std::string body = absl::StrCat(R"({"prompt": "a", "max_tokens": )", max_tokens, "}");
    (*client)->Send(
        absl::StrCat("POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
                     "Content-Length: ", body.size(), "\r\n\r\n", body));
    return *std::move(client);
  }

  bool HasRunning(int requests) const {
    const std::string line = absl::StrCat(
        "vllm:num_requests_running{engine=\"0\",model_name=\"stand-in\"} ", requests, "\n");
    return Eventually([&] {
      const auto page = Get("/metrics");
      return page.ok() && page->find(line) != std::string::npos;
    });
  }

 private:
  static std::vector<std::string> OnAnyPort(const std::vector<std::string>& args) {
    std::vector<std::string> all = {"engine", "--port=0"};
    all.insert(all.end(), args.begin(), args.end());
    return all;
  }

  Process process_;
};

}  // namespace gpuscaler
