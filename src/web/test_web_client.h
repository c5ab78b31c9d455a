// Requests to the web port, with any headers.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gtest/gtest.h"
#include "serve/test_http_client.h"

namespace gpuscaler {

using TestHeaders = std::map<std::string, std::string>;

inline std::string RequestText(const std::string& path, TestHeaders headers = {}) {
  headers.try_emplace("Host", "localhost");
  std::string text = absl::StrCat("GET ", path, " HTTP/1.1\r\n");
  for (const auto& [name, value] : headers) absl::StrAppend(&text, name, ": ", value, "\r\n");
  return absl::StrCat(text, "\r\n");
}

inline absl::StatusOr<TestReply> TryGet(int port, const std::string& path,
                                        const TestHeaders& headers = {},
                                        const TestTls* tls = nullptr) {
  ASSIGN_OR_RETURN(const auto client, TestHttpClient::Open(port, tls));
  client->Send(RequestText(path, headers));
  ASSIGN_OR_RETURN(const std::string all, client->ReadAll());
  const size_t end = all.find("\r\n\r\n");
  TestReply reply;
  if (end == std::string::npos || !absl::SimpleAtoi(all.substr(9, 3), &reply.status)) {
    return absl::UnavailableError(absl::StrCat("no HTTP reply but \"", all, "\""));
  }
  reply.head = all.substr(0, end + 2);
  reply.body = all.substr(end + 4);
  return reply;
}

inline TestReply MustGet(int port, const std::string& path, const TestHeaders& headers = {}) {
  const auto reply = TryGet(port, path, headers);
  EXPECT_TRUE(reply.ok()) << path << ": " << reply.status();
  return reply.value_or(TestReply{});
}

}  // namespace gpuscaler
