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

struct Namer {
  std::string operator()(const DiscoveredEngines&) const {
    return absl::StrCat("engines found in pods of ", namespace_name);
  }
  std::string operator()(const EngineEndpoint& endpoint) const {
    return absl::StrCat(endpoint.engine.empty() ? "engines" : endpoint.engine, " at ",
                        WithoutQuery(endpoint.url));
  }
  std::string operator()(const MetricsEndpoint& page) const {
    return absl::StrCat(page.selector, page.zero_if_absent ? " (0 if absent)" : "", " at ",
                        WithoutQuery(page.url));
  }
  std::string operator()(const RedisQueue& queue) const {
    return absl::StrCat(NameOf(queue), " at ", queue.address);
  }
  absl::string_view namespace_name;
};

}  // namespace

std::string NameOf(const SignalSource& source) {
  return std::visit(Namer{source.namespace_name}, source.target);
}

}  // namespace gpuscaler
