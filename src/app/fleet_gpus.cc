#include "app/fleet_gpus.h"

#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "app/client_flags.h"
#include "app/commands.h"
#include "app/fleet_page.h"

namespace gpuscaler {
namespace {

// A reply with 5,000 nodes of 8 GPUs has 13 MB.
constexpr absl::Duration kViewDeadline = absl::Seconds(10);

absl::Status WithAddress(const std::string& address, const absl::Status& error) {
  const bool is_other = error.code() == absl::StatusCode::kUnimplemented;
  return {error.code(),
          absl::StrCat(address, ": ",
                       is_other ? "answers, and is no aggregator (an agent's port, or a "
                                  "standalone scaler's?), or one of an older version"
                                : error.message())};
}

}  // namespace

int ShowFleet(const std::string& address, const ScalerClientOptions& options,
              absl::string_view format) {
  ScalerClientOptions view_options = options;
  view_options.deadline = kViewDeadline;
  const auto client = OpenClient(address, view_options);
  if (!client.ok()) return Fail("keda-gpu-scaler gpus", client.status(), kExitUsage);
  auto view = (*client)->View();
  if (!view.ok())
    return Fail("keda-gpu-scaler gpus", WithAddress(address, view.status()), kExitUnavailable);
  const auto page = FleetPageOf(address, *std::move(view), absl::Now());
  if (!page.ok())
    return Fail("keda-gpu-scaler gpus", WithAddress(address, page.status()), kExitUnavailable);
  std::cout << (format == "json" ? FleetJson(*page) : FleetTable(*page)) << std::flush;
  return page->view.trouble().empty() ? kExitOk : kExitUnavailable;
}

}  // namespace gpuscaler
