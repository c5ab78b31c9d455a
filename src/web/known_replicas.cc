#include "web/known_replicas.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "scaling/workload_engines.h"

namespace gpuscaler {
namespace {

size_t TemplateHashOf(absl::string_view name) {
  const absl::string_view pod_template = TemplateOf(name);
  return pod_template.empty() ? 0 : absl::HashOf(pod_template);
}

}  // namespace

bool IsCounted(const Contribution& contribution) {
  return contribution.state == Contribution::State::kCounted ||
         contribution.state == Contribution::State::kUnreadable;
}

std::vector<KnownReplica> CountedReplicas(const Decision& decision, absl::Time at) {
  std::vector<KnownReplica> replicas;
  for (const Contribution& contribution : decision.contributions) {
    if (!IsCounted(contribution)) continue;
    replicas.push_back({.name = absl::HashOf(absl::string_view(contribution.name)),
                        .pod = contribution.uid_hash,
                        .pod_template = TemplateHashOf(contribution.name),
                        .counted_at = at});
  }
  std::ranges::sort(replicas, [](const KnownReplica& a, const KnownReplica& b) {
    return a.name != b.name ? a.name < b.name : a.pod < b.pod;
  });
  const auto is_same_name = [](const KnownReplica& a, const KnownReplica& b) {
    return a.name == b.name;
  };
  replicas.erase(std::unique(replicas.begin(), replicas.end(), is_same_name), replicas.end());
  return replicas;
}

int KnownReplicas::CountReplaced(const Decision& decision, absl::Time at) {
  const std::vector<KnownReplica> counted = CountedReplicas(decision, at);
  if (counted.size() > kMostReplicas) {
    *this = {};
    return 0;
  }
  // Those of the last decision stay, however long ago it was.
  std::erase_if(known_, [&](const KnownReplica& known) {
    return known.counted_at != decided_at_ && at - known.counted_at > kKept;
  });
  const bool is_same_number =
      static_cast<size_t>(std::ranges::count(known_, decided_at_, &KnownReplica::counted_at)) ==
      counted.size();
  // Replicas of older templates may also end without being replaced.
  to_replace_ = std::min(to_replace_, CountOfOthers(newest_template_));
  int replaced = 0;
  std::vector<KnownReplica> added;
  std::vector<KnownReplica*> present;
  for (const KnownReplica& replica : counted) {
    const auto known = std::ranges::lower_bound(known_, replica.name, {}, &KnownReplica::name);
    if (known == known_.end() || known->name != replica.name) {
      added.push_back(replica);
      continue;
    }
    present.push_back(&*known);
    if (replica.pod == 0) continue;
    if (known->pod != 0 && known->pod != replica.pod) ++replaced;
    known->pod = replica.pod;
  }
  for (const KnownReplica& replica : added) {
    if (TakesPlace(replica) || is_same_number) ++replaced;
  }
  for (KnownReplica* const replica : present) replica->counted_at = at;
  known_.insert(known_.end(), added.begin(), added.end());
  if (known_.size() > kMostReplicas) {
    std::erase_if(known_, [at](const KnownReplica& known) { return known.counted_at != at; });
  }
  std::ranges::sort(known_, {}, &KnownReplica::name);
  known_.shrink_to_fit();
  decided_at_ = at;
  return replaced;
}

size_t KnownReplicas::CountOfOthers(size_t pod_template) const {
  return static_cast<size_t>(std::ranges::count_if(known_, [=](const KnownReplica& known) {
    return known.pod_template != 0 && known.pod_template != pod_template;
  }));
}

bool KnownReplicas::TakesPlace(const KnownReplica& added) {
  if (added.pod_template == 0) return false;
  const bool is_new =
      added.pod_template != newest_template_ &&
      std::ranges::none_of(known_, [&](const KnownReplica& known) {
        return known.counted_at == decided_at_ && known.pod_template == added.pod_template;
      });
  if (is_new) {
    const size_t others = CountOfOthers(added.pod_template);
    if (others == 0) return false;
    newest_template_ = added.pod_template;
    to_replace_ = others;
  }
  if (added.pod_template != newest_template_ || to_replace_ == 0) return false;
  --to_replace_;
  return true;
}

}  // namespace gpuscaler
