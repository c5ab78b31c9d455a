#include "signal/listening_ports.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "signal/kernel_address.h"
#include "signal/test_pod_network.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

constexpr char kHead[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode                                                     \n";

// A row as a little-endian kernel prints it.
std::string Row(absl::string_view local, absl::string_view state, int inode = 1508) {
  return absl::StrCat("   0: ", local, " 00000000:0000 ", state,
                      " 00000000:00000000 00:00000000 00000000     0        0 ", inode,
                      " 1 00000000c2cf07e8 100 0 0 10 0                      \n");
}

TEST(ParseListeners, ParsesAddressesOfBothFamilies) {
  struct RowCase {
    const char* name;
    const char* local;
    Listener want;
  };
  const RowCase cases[] = {
      {"any", "00000000:1F40", {"0.0.0.0", 8000, 1508}},
      {"loopback", "0100007F:1F40", {"127.0.0.1", 8000, 1508}},
      {"one address", "020200C0:0050", {"192.0.2.2", 80, 1508}},
      {"any, IPv6", "00000000000000000000000000000000:7530", {"::", 30000, 1508}},
      {"loopback, IPv6", "00000000000000000000000001000000:1F40", {"::1", 8000, 1508}},
      {"one address, IPv6", "B80D01200000000000000000FF000000:FFFF", {"2001:db8::ff", 65535, 1508}},
      {"IPv4 by an IPv6 socket",
       "0000000000000000FFFF0000020200C0:1F40",
       {"192.0.2.2", 8000, 1508}},
  };
  for (const RowCase& row : cases) {
    const auto listeners = ParseListeners(absl::StrCat(kHead, Row(row.local, "0A")));
    ASSERT_TRUE(listeners.ok()) << row.name << ": " << listeners.status();
    EXPECT_THAT(*listeners, ElementsAre(row.want)) << row.name;
  }
}

TEST(ParseListeners, ConnectionsAreSkipped) {
  const auto listeners = ParseListeners(
      absl::StrCat(kHead, Row("00000000:1F40", "0A", 7), Row("020200C0:1F40", "01", 8),
                   Row("020200C0:1F41", "06", 0), Row("00000000:1F42", "0A", 9)));
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  EXPECT_THAT(*listeners, ElementsAre(Listener{"0.0.0.0", 8000, 7}, Listener{"0.0.0.0", 8002, 9}));
}

TEST(ParseListeners, TableMayEndAnywhere) {
  const std::string row = Row("00000000:1F40", "0A");
  const std::string table = absl::StrCat(kHead, row, row);
  for (size_t size = 0; size <= table.size(); ++size) {
    const auto listeners = ParseListeners(absl::string_view(table).substr(0, size));
    ASSERT_TRUE(listeners.ok()) << size << ": " << listeners.status();
    const size_t whole_rows = (size >= table.size() - row.size()) + (size == table.size());
    EXPECT_EQ(listeners->size(), whole_rows) << size;
  }
}

TEST(ParseListeners, ErrorsNameTheMalformedRow) {
  for (const std::string& row :
       {std::string("what is this\n"), Row("00000000", "0A"), Row("0000000:1F40", "0A"),
        Row("00000000:1F400", "0A"), Row("0000000g:1F40", "0A"), Row("00000000:-001", "0A"),
        std::string("\x01\xff\n")}) {
    const auto listeners = ParseListeners(absl::StrCat(kHead, Row("00000000:1F40", "0A"), row));
    EXPECT_EQ(listeners.status().code(), absl::StatusCode::kInvalidArgument)
        << row << listeners.status();
  }
}

TEST(ParseListeners, AnEmptyTableHasNoListeners) {
  EXPECT_THAT(*ParseListeners(kHead), IsEmpty());
  EXPECT_THAT(*ParseListeners(""), IsEmpty());
}

TEST(ParseListeners, ParsesTheKernelsTable) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const absl::Cleanup closed = [server] { close(server); };
  sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(server, 1), 0);
  ASSERT_EQ(getsockname(server, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto text = ReadFileText("/proc/self/net/tcp");
  ASSERT_TRUE(text.ok()) << text.status();
  const auto listeners = ParseListeners(*text);
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  EXPECT_THAT(*listeners, testing::Contains(testing::AllOf(
                              testing::Field(&Listener::address, "127.0.0.1"),
                              testing::Field(&Listener::port, int{ntohs(address.sin_port)}),
                              testing::Field(&Listener::socket, testing::Gt(0u)))));
}

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

class ReadListenersTest : public testing::Test {
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

TEST_F(ReadListenersTest, ReadsAllListeners) {
  EXPECT_THAT(Read(), UnorderedElementsAreArray(ports_));
  Serve("::1", 9000);
  Serve("127.0.0.1", 9001);
  EXPECT_THAT(Read(), UnorderedElementsAreArray(ports_));
}

TEST_F(ReadListenersTest, ReadsAllListenersBesideConnections) {
  for (int i = 0; i < 100; ++i) ASSERT_EQ(GetPage("127.0.0.1", 8000), "page");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(GetPage("::1", 8001 + 3 * (i % 6)), "page");
  EXPECT_THAT(Read(), UnorderedElementsAreArray(ports_));
}

TEST(KernelAddress, RecognizesLoopbackAndLinkLocal) {
  for (const char* address : {"127.0.0.1", "127.8.0.1", "::1"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address : {"169.254.1.1", "fe80::1"})
    EXPECT_TRUE(IsLinkLocal(address)) << address;
  for (const char* address : {"10.1.2.3", "12.7.0.1", "fd00::1", "::", "0.0.0.0"}) {
    EXPECT_FALSE(IsLoopback(address) || IsLinkLocal(address)) << address;
  }
}

TEST(KernelAddress, ReadsIpv6ByteByByte) {
  EXPECT_EQ(AddressOfBytes("fd000000000000000000000000000002"), "fd00::2");
  EXPECT_EQ(AddressOfBytes("fd00000000000000000000000000000"), std::nullopt);
  EXPECT_EQ(AddressOfBytes("fd00000000000000000000000000000g"), std::nullopt);
}

}  // namespace
}  // namespace gpuscaler
