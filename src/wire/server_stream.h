// One call on a client's connection: its headers, its handler, messages, the status.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "wire/event_loop.h"
#include "wire/limits.h"
#include "wire/message_reader.h"
#include "wire/server_call.h"

namespace gpuscaler {

class ServerSession;

// Belongs to the loop's thread.
class ServerStream {
 public:
  // The session outlives the stream.
  ServerStream(int32_t id, ServerSession& session);
  ~ServerStream();  // its call ends
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  // Counts a field of the headers or trailers, and refuses the call if they are too large. Returns
  // false if they are four times as large. The connection must then be closed, because nghttp2
  // decodes further fields even after the stream was reset.
  bool CountHeader(size_t bytes);
  // Must be called after CountHeader().
  void AddHeader(absl::string_view name, absl::string_view value);
  // Starts the call, or refuses it. Must be called when all headers have come.
  void Start();
  void AddData(absl::string_view bytes);
  // The client sends no more.
  void EndData();
  bool client_is_done() const { return client_is_done_; }
  bool has_sent_status() const { return has_sent_status_; }

  // Fills DATA frames, as nghttp2's read callback does.
  ssize_t ReadOutgoing(uint8_t* buffer, size_t size, uint32_t* flags);

 private:
  friend class ServerCall;

  // Counts a field that the call keeps until it has started. Returns false, and refuses the call,
  // if the budget is spent.
  bool ReserveHeader(absl::string_view name, absl::string_view value);
  void StartOrRefuse();
  void OnDeadline();
  // Returns the error of a call that cannot have a handler.
  absl::Status Check();
  // Submits a response of a status without messages: gRPC's Trailers-Only.
  void SubmitTrailersOnly(const absl::Status& status);
  void SubmitHeaders();
  void SubmitTrailers(const absl::Status& status);
  void DropCurrent();
  // Makes the next outgoing message the current one. Without one, `current_` is empty: returns the
  // status if the call has finished.
  std::optional<absl::Status> TakeNext();

  // ServerCall's.
  void Flush();
  void FinishNow(const absl::Status& status);
  void FinishForUnreadLimit(const absl::Status& status);
  bool Reserve(size_t bytes);
  void Release(size_t bytes) { reader_.Release(bytes); }

  const int32_t id_;
  ServerSession& session_;
  CallHeaders headers_;
  size_t header_bytes_ = 0;  // as HTTP/2 counts a header list
  size_t reserved_header_bytes_ = 0;
  bool is_grpc_ = false;           // according to its content type
  absl::Status refused_;           // before a handler was found
  std::optional<Limit> exceeded_;  // why the call was refused, if for a limit
  MessageReader reader_;
  std::shared_ptr<ServerCall> call_;
  std::shared_ptr<ServerCall::Handler> handler_;
  OwnedEvent deadline_;
  bool has_sent_headers_ = false;
  bool has_sent_status_ = false;  // submitted
  bool client_is_done_ = false;
  std::string current_;  // the message being sent
  size_t sent_ = 0;      // bytes of the message that have gone
};

}  // namespace gpuscaler
