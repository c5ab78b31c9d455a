// One call on a connection to a server: its headers, messages, the status.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "wire/client_call.h"
#include "wire/message_reader.h"
#include "wire/target.h"

namespace gpuscaler {

class ClientSession;

// Belongs to the loop's thread. The session holds it until the call ends: a function that ends the
// call deletes the stream.
class ClientStream {
 public:
  // More headers than this end the call.
  static constexpr uint32_t kHeaderListBytes = 16 << 10;

  // Requests a stream for the call. Returns its id, or nghttp2's error.
  static int32_t Submit(nghttp2_session* http2, const Target& target, const ClientCall& call);

  // The session outlives the stream.
  ClientStream(int32_t id, ClientSession& session, const std::shared_ptr<ClientCall>& call);
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  // Counts a header field. False: they are too many, and the call has ended.
  bool CountHeader(size_t bytes);
  // Must be called after CountHeader().
  void AddHeader(absl::string_view name, absl::string_view value);
  void EndHeaders(bool is_last);
  void AddData(absl::string_view bytes);
  void ServerIsDone();
  // HTTP/2 has closed the stream, with an error code of RFC 9113, section 7.
  void OnClose(uint32_t error);

  // Fills DATA frames, as nghttp2's read callback does.
  ssize_t ReadOutgoing(uint8_t* buffer, size_t size, uint32_t* flags);

  // Ends the call.
  void End(const CallEnd& end);

 private:
  friend class ClientCall;

  // False: the stream is gone.
  bool Deliver(absl::string_view bytes);
  // Ends the call, and resets the stream at the server.
  void Fail(const absl::Status& status);

  // ClientCall's.
  void Flush();
  void Resume();
  void Reset();  // after the call's end

  const int32_t id_;
  ClientSession& session_;
  const std::shared_ptr<ClientCall> call_;
  size_t header_bytes_ = 0;  // all header blocks together, as HTTP/2 counts a list
  int http_status_ = 0;      // 0: the final headers have not come
  bool has_headers_ = false;
  CallMetadata fields_;  // the block that is being read
  std::string content_type_, grpc_status_, grpc_message_;
  MessageBudget budget_;
  MessageReader reader_;
  std::deque<std::string> waiting_;  // messages, while the reader pauses
  std::string undecoded_;            // bytes after them: at most one flow-control window
  bool server_is_done_ = false;
  bool has_sent_all_ = false;
  std::string current_;  // the message being sent, with its prefix
  size_t sent_ = 0;      // bytes of it that have gone
};

}  // namespace gpuscaler
