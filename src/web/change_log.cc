#include "web/change_log.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "web/web_json.h"

namespace gpuscaler {
namespace {

// A client that has read nothing for longer is disconnected.
constexpr absl::Duration kKeepRemovals = absl::Minutes(10);
// Beyond it the oldest ones are forgotten: clients of the gRPC port may invent any number of
// triggers. Pages then show these until they load the workloads again.
constexpr size_t kMostRemovals = 10'000;

std::string EventText(absl::string_view name, absl::string_view data) {
  return absl::StrCat("event: ", name, "\ndata: ", data, "\n\n");
}

}  // namespace

void ChangeLog::Update(absl::Time now, std::span<const WorkloadRow> rows,
                       const std::optional<FleetSize>& fleet) {
  const int64_t next = version_ + 1;
  bool is_changed = version_ == 0;
  std::map<TriggerKey, Row> before = std::exchange(rows_, {});
  for (const WorkloadRow& row : rows) {
    const auto known = before.find(row.key);
    const bool is_same = known != before.end() && known->second.row.fields == row.fields;
    rows_.insert_or_assign(row.key,
                           Row{.row = row, .version = is_same ? known->second.version : next});
    removed_.erase(row.key);
    is_changed |= !is_same;
  }
  for (const auto& [key, row] : before) {
    if (rows_.contains(key)) continue;
    removed_.insert_or_assign(key, Removal{.version = next, .at = now});
    is_changed = true;
  }
  std::erase_if(removed_,
                [now](const auto& entry) { return now - entry.second.at > kKeepRemovals; });
  const auto version_of = [](const auto& entry) { return entry.second.version; };
  while (removed_.size() > kMostRemovals) {
    const int64_t oldest = version_of(*std::ranges::min_element(removed_, {}, version_of));
    std::erase_if(removed_, [&](const auto& entry) { return version_of(entry) == oldest; });
  }
  if (fleet_version_ == 0 || fleet != fleet_) {
    fleet_version_ = next;
    is_changed = true;
  }
  fleet_ = fleet;
  now_ = now;
  if (!is_changed) return;
  version_ = next;
  texts_.clear();
}

std::string ChangeLog::TextSince(int64_t since) const {
  std::vector<std::string> rows, removed;
  for (const auto& [key, row] : rows_) {
    if (row.version > since) rows.push_back(row.row.Json());
  }
  for (const auto& [key, removal] : removed_) {
    if (since == 0 || removal.version <= since) continue;
    removed.push_back(WebJsonText({key.namespace_name, key.scaled_object, key.trigger}));
  }
  const std::string now = TimeJson(now_).dump();
  std::string text;
  if (since == 0 || !rows.empty() || !removed.empty()) {
    text = EventText("workloads",
                     absl::StrCat("{\"now\":", now, ",\"rows\":[", absl::StrJoin(rows, ","),
                                  "],\"removed\":[", absl::StrJoin(removed, ","), "]}"));
  }
  if (fleet_version_ <= since) return text;
  const std::string size =
      fleet_ ? absl::StrCat("\"nodes\":", fleet_->nodes, ",\"gpus\":", fleet_->gpus)
             : "\"nodes\":null,\"gpus\":null";
  return text + EventText("fleet", absl::StrCat("{\"now\":", now, ",\"version\":", fleet_version_,
                                                ",", size, "}"));
}

EventBatch ChangeLog::Since(int64_t since) {
  if (since >= version_) return {.version = version_, .text = nullptr};
  std::shared_ptr<const std::string>& text = texts_[since];
  if (text == nullptr) text = std::make_shared<const std::string>(TextSince(since));
  return {.version = version_, .text = text};
}

}  // namespace gpuscaler
