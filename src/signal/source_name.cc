#include "signal/source_name.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {
namespace {

absl::string_view WithoutQuery(absl::string_view url) { return url.substr(0, url.find('?')); }

std::string NameOf(const RedisQueue& queue) {
  switch (queue.length) {
    case RedisQueue::Length::kStream:
      return absl::StrCat("stream ", queue.key);
    case RedisQueue::Length::kLag:
      return absl::StrCat("what group ", queue.group, " has not read of stream ", queue.key);
    case RedisQueue::Length::kPending:
      return absl::StrCat("what group ", queue.group, " has not acknowledged of stream ",
                          queue.key);
    case RedisQueue::Length::kList:
      break;
  }
  return absl::StrCat("list ", queue.key);
}

}  // namespace

std::string NameOf(const SignalSource& source) {
  if (const auto* const engines = std::get_if<EngineEndpoint>(&source.target)) {
    return absl::StrCat(engines->engine.empty() ? "engines" : engines->engine, " at ",
                        WithoutQuery(engines->url));
  }
  if (const auto* const page = std::get_if<MetricsEndpoint>(&source.target)) {
    return absl::StrCat(page->selector, page->zero_if_absent ? " (0 if absent)" : "", " at ",
                        WithoutQuery(page->url));
  }
  if (const auto* const queue = std::get_if<RedisQueue>(&source.target)) {
    return absl::StrCat(NameOf(*queue), " at ", queue->address);
  }
  return absl::StrCat("engines found in pods of ", source.namespace_name);
}

}  // namespace gpuscaler
