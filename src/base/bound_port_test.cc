#include "base/bound_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

bool CanConnect(int port) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected =
      connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(client);
  return connected;
}

TEST(BoundPort, HasANumberAndRefusesClientsUntilItListens) {
  for (const char* address : {"127.0.0.1", "0.0.0.0", "::"}) {
    auto bound = BoundPort::Open(address, 0);
    ASSERT_TRUE(bound.ok()) << bound.status();
    const int port = bound->port();
    EXPECT_GT(port, 0) << address;
    EXPECT_FALSE(CanConnect(port)) << address;
    const auto listening = (*std::move(bound)).Listen();
    ASSERT_TRUE(listening.ok()) << listening.status();
    EXPECT_TRUE(CanConnect(port)) << address;
    close(*listening);
  }
}

TEST(BoundPort, FirstSocketThatListensKeepsIt) {
  auto bound = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(bound.ok()) << bound.status();
  const int port = bound->port();
  auto other = BoundPort::Open("127.0.0.1", port);
  ASSERT_TRUE(other.ok()) << other.status();
  const auto listening = (*std::move(other)).Listen();
  ASSERT_TRUE(listening.ok()) << listening.status();
  const auto late = (*std::move(bound)).Listen();
  EXPECT_EQ(late.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(late.status().message(), HasSubstr("cannot listen on port "));
  close(*listening);
}

TEST(BoundPort, ErrorHasTheReason) {
  EXPECT_EQ(BoundPort::Open("localhost", 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(BoundPort::Open("192.0.2.1", 0).status().code(), absl::StatusCode::kUnavailable);
  auto bound = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(bound.ok()) << bound.status();
  const int port = bound->port();
  const auto listening = (*std::move(bound)).Listen();
  ASSERT_TRUE(listening.ok()) << listening.status();
  const auto taken = BoundPort::Open("127.0.0.1", port).status();
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(taken.message(), HasSubstr("cannot listen on 127.0.0.1:"));
  close(*listening);
}

}  // namespace
}  // namespace gpuscaler
