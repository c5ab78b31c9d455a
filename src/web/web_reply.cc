#include "web/web_reply.h"

#include "web/web_json.h"

namespace gpuscaler {
namespace {

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kOutOfRange:
      return 410;
    default:
      return 503;
  }
}

}  // namespace

WebReply ErrorReply(const absl::Status& error) {
  WebReply reply = JsonReply(WebJsonText({{"error", std::string(error.message())}}));
  reply.status = HttpStatusOf(error.code());
  return reply;
}

}  // namespace gpuscaler
