// Requests to the web port. An input has a line each: a parameter's value, from, to, Host, another
// header, then targets such as /api/v1/workloads/shop/llm/what-if?max=4.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/fake_clock.h"
#include "base/test_folder.h"
#include "fuzz_assert.h"
#include "nlohmann/json.hpp"
#include "web/gzip.h"
#include "web/test_web_sources.h"
#include "web/web_access.h"
#include "web/web_api.h"
#include "web/web_query.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kToken = "0123456789abcdef";
static_assert(kToken.size() == WebAccess::kShortestToken);

void CheckParameters(const WebRequest& request) {
  const auto number = NumberParameter(request, "value", 0, 1000);
  FUZZ_ASSERT(!number.ok() || (*number && **number >= 0 && **number <= 1000));
  const auto count = CountParameter(request, "value", 1, 50);
  FUZZ_ASSERT(!count.ok() || (*count && **count >= 1 && **count <= 50));
  const absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  const auto range = TimeRangeOf(request, now);
  FUZZ_ASSERT(!range.ok() || (range->from < range->to && range->to <= now));
}

// Returns true for a name of the loopback interface, alone or with a port.
bool IsLoopback(absl::string_view host) {
  for (const absl::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (!absl::StartsWithIgnoreCase(host, name)) continue;
    const absl::string_view rest = host.substr(name.size());
    if (rest.empty()) return true;
    if (rest.front() == ':' && std::ranges::all_of(rest.substr(1), absl::ascii_isdigit))
      return true;
  }
  return false;
}

// The access with kToken. Its file is needed only once.
std::unique_ptr<WebAccess> OpenAccess() {
  const TestFolder folder;
  return *WebAccess::Open(
      {.bind_address = "127.0.0.1", .token_file = folder.Write("token", std::string(kToken))});
}

void CheckHeaders(absl::string_view host, absl::string_view header) {
  static const WebAccess& access = *OpenAccess().release();
  FUZZ_ASSERT(!access.CheckHost(host).ok() || IsLoopback(host));
  const bool has_scheme = absl::AsciiStrToLower(header.substr(0, 7)) == "bearer ";
  const bool has_token = has_scheme && absl::StripAsciiWhitespace(header.substr(7)) == kToken;
  FUZZ_ASSERT(access.CheckToken(header).ok() == has_token);
  FUZZ_ASSERT(WebAccess::CheckSite(header).ok() ==
              (header.empty() || header == "same-origin" || header == "none"));
  FUZZ_ASSERT(!AcceptsGzip(header) || absl::StrContains(absl::AsciiStrToLower(header), "gzip") ||
              absl::StrContains(header, '*'));
}

// An hour of history of shop/llm, a node, and a cost. Requests change none of it.
class Scaler {
 public:
  Scaler() {
    workloads_.Add("shop", "llm").decision = {.value = 70, .active = true, .replicas = 1};
    workloads_.Add("shop", "\xff\"").status = absl::UnavailableError("no GPU snapshot yet\xff");
    for (int step = 0; step < 200; ++step) {
      HistoryPoint point{.at = clock_.Now(), .code = absl::StatusCode::kOk};
      point.value = step * 10 % 470;
      point.target = 60;
      point.replicas = step / 4 % 9;
      point.active = step % 7 > 2;
      if (step % 31 != 5) history_.Record({"shop", "llm", "keda_gpu_metric"}, point);
      clock_.Advance(kHistoryStep);
    }
    gpuscaler::v1::Explanation explanation;
    explanation.set_text("first\nsecond");
    history_.RecordExplanation({"shop", "llm", "keda_gpu_metric"}, clock_.Now(), explanation);
    FleetHistory fleet;
    fleet.nodes.push_back(StateWith(SnapshotOf(2, clock_.Now(), "gpu-1")));
    fleets_.Set(fleet);
  }

  WebReply Reply(const WebRequest& request) { return api_.Reply(request); }

 private:
  CostReport Cost(int hours, GroupBy by) const {
    FUZZ_ASSERT(hours >= 1 && hours <= 24);
    CostReport report{.from = clock_.Now() - absl::Hours(hours), .to = clock_.Now(), .by = by};
    report.rows.push_back({.key = "shop/llm", .labels = {.namespace_name = "shop\xff"}});
    return report;
  }

  FakeClock clock_;
  const absl::Time started_at_ = clock_.Now();
  TestFleetReader fleets_;
  TestWorkloads workloads_;
  TriggerHistory history_{{.keep = absl::Hours(1)}, started_at_};
  WebApi api_{{.name = "scaler-0", .role = "aggregator", .started_at = started_at_},
              clock_,
              fleets_,
              {.stale_after = absl::Hours(48), .grace = absl::Hours(48)},
              {.workloads = workloads_.Source(),
               .history = &history_,
               .cost = {.report = [this](int hours, GroupBy by) { return Cost(hours, by); }}}};
};

void CheckTarget(const std::string& target) {
  static Scaler& scaler = *new Scaler();
  const std::pair<std::string, std::string> parts = absl::StrSplit(target, absl::MaxSplits('?', 1));
  WebRequest request{.path = parts.first, .query = {}};
  for (const absl::string_view parameter : absl::StrSplit(parts.second, '&', absl::SkipEmpty())) {
    request.query.insert(absl::StrSplit(parameter, absl::MaxSplits('=', 1)));
  }
  const WebReply reply = scaler.Reply(request);
  const auto body = nlohmann::json::parse(*reply.body, nullptr, false);  // refuses invalid UTF-8
  FUZZ_ASSERT(body.is_object() && reply.content_type == "application/json");
  const int errors[] = {400, 404, 410, 503};
  const bool is_error = std::ranges::find(errors, reply.status) != std::end(errors);
  FUZZ_ASSERT(is_error || reply.status == 200);
  FUZZ_ASSERT(is_error == body.contains("error") && (!is_error || body.size() == 1));
}

void CheckRequest(absl::string_view text) {
  constexpr size_t kTargets = 5, kMostTargets = 8;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const size_t end = std::clamp(lines.size(), kTargets, kTargets + kMostTargets);
  lines.resize(end);
  CheckParameters(
      {.path = "/", .query = {{"value", lines[0]}, {"from", lines[1]}, {"to", lines[2]}}});
  CheckHeaders(lines[3], lines[4]);
  for (size_t i = kTargets; i < end; ++i) CheckTarget(lines[i]);
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckRequest({reinterpret_cast<const char*>(data), size});
  return 0;
}
