#include "discovery/listener_tables.h"

#include <memory>

#include "discovery/test_pod_network.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::UnorderedElementsAreArray;

constexpr char kRealProc[] = "/proc";

TEST(SocketsInUse, IsInTheProtocolsLine) {
  constexpr char kText[] =
      "sockets: used 17\nTCP: inuse 3 orphan 0 tw 0 alloc 1 mem 224\nUDP: inuse 9 mem 0\n";
  EXPECT_EQ(SocketsInUse(kText, "TCP:"), 3u);
  EXPECT_EQ(SocketsInUse("TCP6: inuse 0\nUDP6: inuse 5\n", "TCP6:"), 0u);
  EXPECT_EQ(SocketsInUse(kText, "TCP6:"), std::nullopt);
  EXPECT_EQ(SocketsInUse("TCP: inuse many\nTCP:\n", "TCP:"), std::nullopt);
}

std::vector<int> PortsOf(const std::vector<Listener>& listeners) {
  std::vector<int> ports;
  for (const Listener& listener : listeners) ports.push_back(listener.port);
  return ports;
}

class ListenerTablesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterOwnNetwork(), absl::OkStatus());
    process_ = std::make_unique<TestProcess>([] {});
    for (int port = 8000; port < 8020; ++port) Serve(port % 3 == 0 ? "::" : "127.0.0.1", port);
  }

  void Serve(const std::string& address, int port) {
    servers_.push_back(std::make_unique<TestServer>(address, "page", port));
    ASSERT_EQ(servers_.back()->port(), port);
    ports_.push_back(port);
  }

  std::vector<int> Read() const {
    const auto listeners = ReadListeners(kRealProc, process_->pid());
    EXPECT_TRUE(listeners.ok()) << listeners.status();
    return listeners.ok() ? PortsOf(*listeners) : std::vector<int>();
  }

  std::unique_ptr<TestProcess> process_;
  std::vector<std::unique_ptr<TestServer>> servers_;
  std::vector<int> ports_;
};

TEST_F(ListenerTablesTest, ReadsAllListeners) {
  EXPECT_THAT(Read(), UnorderedElementsAreArray(ports_));
  Serve("::1", 9000);
  Serve("127.0.0.1", 9001);
  EXPECT_THAT(Read(), UnorderedElementsAreArray(ports_));
}

TEST_F(ListenerTablesTest, ReadsAllListenersBesideConnections) {
  for (int i = 0; i < 100; ++i) ASSERT_EQ(GetPage("127.0.0.1", 8000), "page");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(GetPage("::1", 8001 + 3 * (i % 6)), "page");
  EXPECT_THAT(Read(), UnorderedElementsAreArray(ports_));
}

}  // namespace
}  // namespace gpuscaler
