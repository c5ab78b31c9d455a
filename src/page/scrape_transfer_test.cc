#include "page/scrape_transfer.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

// The error of a fetch without the first protection, CURLOPT_CONNECT_TO.
absl::Status FaultWithout(const ScrapeRequest& request, const std::string& connect_to) {
  ScrapeTransfer transfer(request);
  CurlList list;
  if (!connect_to.empty()) list.Add(connect_to);
  transfer.easy().Set(CURLOPT_CONNECT_TO, list);
  return transfer.Result(Curl().easy_perform(transfer.handle())).status();
}

TEST(ScrapeTransfer, HostThatResolvesToAnotherAddressIsRefused) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("stolen"); }));
  const ScrapeRequest request = {.server = {.host = "localhost",
                                            .address = *ParseIpAddress("127.0.0.2"),
                                            .port = server.port()}};
  const absl::Status fault = FaultWithout(request, "");
  EXPECT_EQ(fault.code(), absl::StatusCode::kPermissionDenied) << fault;
  EXPECT_EQ(server.connections(), 0);
}

TEST(ScrapeTransfer, OtherAddressOrPortIsRefused) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("stolen"); }), nullptr,
                              "0.0.0.0");
  ScrapeRequest request = {
      .server = {.host = "llm", .address = *ParseIpAddress("127.0.0.1"), .port = 1}};
  const std::string other_port = absl::StrCat("::127.0.0.1:", server.port());
  EXPECT_EQ(FaultWithout(request, other_port).code(), absl::StatusCode::kPermissionDenied);
  request.server.port = server.port();
  const std::string other_address = absl::StrCat("::127.0.0.2:", server.port());
  EXPECT_EQ(FaultWithout(request, other_address).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(server.connections(), 0);
  EXPECT_TRUE(FaultWithout(request, other_port).ok());
}

TEST(ScrapeTransfer, Ipv4AddressDiffersFromIpv6WithTheSameEnd) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("stolen"); }));
  const ScrapeRequest request = {.server = {.host = "llm",
                                            .address = *ParseIpAddress("64:ff9b::127.0.0.1"),
                                            .port = server.port()}};
  const absl::Status fault = FaultWithout(request, absl::StrCat("::127.0.0.1:", server.port()));
  EXPECT_EQ(fault.code(), absl::StatusCode::kPermissionDenied) << fault;
}

// If libcurl refused the CA option, the system's authorities would stay in effect.
TEST(ScrapeTransfer, RefusedOptionPreventsTheRequest) {
  const ScrapeRequest request = {
      .server = {.host = "llm", .address = *ParseIpAddress("127.0.0.1"), .port = 1}};
  ScrapeTransfer transfer(request);
  EXPECT_TRUE(transfer.Ready().ok()) << transfer.Ready();
  transfer.easy().Set(static_cast<CURLoption>(9999), 1L);
  EXPECT_EQ(transfer.Ready().code(), absl::StatusCode::kFailedPrecondition) << transfer.Ready();
  EXPECT_EQ(transfer.Result(CURLE_OK).status(), transfer.Ready());
}

}  // namespace
}  // namespace gpuscaler
