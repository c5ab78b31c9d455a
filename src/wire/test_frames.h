// Peers that send HTTP/2's frames one by one, as attackers do.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "wire/test_socket.h"

namespace gpuscaler {

// RFC 9113, section 6.
enum class FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
  kUnknown = 0x77,
};
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kAck = 1;
constexpr uint8_t kEndHeaders = 4;
constexpr uint8_t kPadded = 8;

// The first bytes of a client (section 3.4).
constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct Frame {
  FrameType type = FrameType::kData;
  uint8_t flags = 0;
  uint32_t stream = 0;
  std::string payload;
};

inline std::string BigEndian(uint32_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
  return text;
}

inline std::string Encode(const Frame& frame) {
  return BigEndian(static_cast<uint32_t>(frame.payload.size()), 3) + static_cast<char>(frame.type) +
         static_cast<char>(frame.flags) + BigEndian(frame.stream, 4) + frame.payload;
}

// A header field without indexing (RFC 7541, section 6.2.2), of less than 127 bytes each.
inline std::string Literal(absl::string_view name, absl::string_view value) {
  return absl::StrCat(std::string{'\0', static_cast<char>(name.size())}, name,
                      std::string(1, static_cast<char>(value.size())), value);
}

// The headers of a call, with further fields.
inline std::string CallHead(uint32_t stream, const std::string& path,
                            const std::string& more = "") {
  const std::string fields =
      absl::StrCat("\x83\x86\x04",  // POST, http, :path
                   std::string(1, static_cast<char>(path.size())), path,
                   "\x01\x01"
                   "a",  // :authority
                   Literal("content-type", "application/grpc"), Literal("te", "trailers"), more);
  return Encode({FrameType::kHeaders, kEndHeaders, stream, fields});
}

inline std::string ResetFrame(uint32_t stream) {
  return Encode({FrameType::kReset, 0, stream, BigEndian(8, 4)});  // CANCEL
}

// The bytes of `message`, from its prefix on, in one frame.
inline std::string DataFrame(uint32_t stream, const std::string& message, uint8_t flags = 0) {
  return Encode(
      {FrameType::kData, flags, stream,
       std::string(1, '\0') + BigEndian(static_cast<uint32_t>(message.size()), 4) + message});
}

// One end of a connection. Reads take 10 s at most.
class RawPeer {
 public:
  // Closes `socket`, which is connected, at its end.
  explicit RawPeer(int socket) : socket_(socket) { SetTimeout(SO_RCVTIMEO, absl::Seconds(10)); }
  ~RawPeer() { close(socket_); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  void SetTimeout(int which, absl::Duration after) {
    const timeval timeout = absl::ToTimeval(after);
    setsockopt(socket_, SOL_SOCKET, which, &timeout, sizeof(timeout));
  }

  // False: the peer has closed the connection, or does not read it.
  bool Send(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t size = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) return false;
      sent += static_cast<size_t>(size);
    }
    return true;
  }

  // Empty: the peer has closed the connection, or sends none.
  std::optional<Frame> Read() {
    const std::string head = Take(9);
    if (head.empty()) return std::nullopt;
    Frame frame{static_cast<FrameType>(head[3]), static_cast<uint8_t>(head[4]),
                Number(head.substr(5)), ""};
    frame.payload = Take(Number(head.substr(0, 3)));
    return frame;
  }
  std::optional<Frame> Read(FrameType type) {
    while (auto frame = Read()) {
      if (frame->type == type) return frame;
    }
    return std::nullopt;
  }

  // Blocks until the peer closes the connection.
  std::string ReadAll() {
    std::string bytes;
    char buffer[4096];
    for (ssize_t size = 0; (size = recv(socket_, buffer, sizeof(buffer), 0)) != 0;) {
      if (size < 0) {
        EXPECT_EQ(errno, ECONNRESET) << "the peer has not closed the connection";
        break;
      }
      bytes.append(buffer, static_cast<size_t>(size));
    }
    return bytes;
  }

  // True when the peer closes the connection, after what it may send before.
  bool IsClosed() {
    char byte = 0;
    ssize_t size = 1;
    while (size > 0) size = recv(socket_, &byte, 1, 0);
    return size == 0 || errno == ECONNRESET;
  }

  static uint32_t Number(const std::string& big_endian) {
    uint32_t number = 0;
    for (const char byte : big_endian) number = number << 8 | static_cast<unsigned char>(byte);
    return number;
  }

  // Empty: fewer bytes come.
  std::string Take(size_t size) {
    std::string bytes(size, '\0');
    for (size_t got = 0; got < size;) {
      const ssize_t more = recv(socket_, bytes.data() + got, size - got, 0);
      if (more <= 0) return "";
      got += static_cast<size_t>(more);
    }
    return bytes;
  }

  int descriptor() const { return socket_; }

 private:
  const int socket_;
};

class RawClient : public RawPeer {
 public:
  explicit RawClient(int port, const char* from = "127.0.0.1") : RawPeer(ConnectFrom(from, port)) {}

  // The preface, with SETTINGS of `settings`.
  void Begin(const std::string& settings = "") {
    Send(std::string(kPreface) + Encode({FrameType::kSettings, 0, 0, settings}));
  }
};

}  // namespace gpuscaler
