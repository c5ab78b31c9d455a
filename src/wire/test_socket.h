// A client's socket on loopback, at an address that a test chooses.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>

#include "gtest/gtest.h"

namespace gpuscaler {

// Connects to 127.0.0.1:port. `address` is one of 127.0.0.0/8.
inline int ConnectFrom(const char* address, int port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  sockaddr_in end = {};
  end.sin_family = AF_INET;
  EXPECT_EQ(inet_pton(AF_INET, address, &end.sin_addr), 1);
  EXPECT_EQ(bind(connection, reinterpret_cast<const sockaddr*>(&end), sizeof(end)), 0);
  end.sin_port = htons(static_cast<uint16_t>(port));
  end.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(connection, reinterpret_cast<const sockaddr*>(&end), sizeof(end)), 0);
  return connection;
}

}  // namespace gpuscaler
