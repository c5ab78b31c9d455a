#include "workload/owner_names.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

// The characters of random suffixes (k8s.io/apimachinery util/rand): no vowels, and no digits that
// look like them.
constexpr absl::string_view kRandomAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr size_t kRandomSize = 5;

// A base is cut so that the random part fits into 63 characters (apiserver names/generate.go).
constexpr size_t kLongestBase = 58;

// KubeRay cuts names at 50.
constexpr size_t kLongestRayBase = 50;

// The hash of a pod template is a decimal uint32, with these characters as its digits.
constexpr absl::string_view kHashDigits = "456789bcdf";

// 98 % of all uint32 have nine digits or ten. A shorter hash may as well be a word in the owner's
// name.
constexpr size_t kSureHashSize = 9;

// "web-x7k2p" is "web" and "x7k2p".
struct Split {
  absl::string_view head;
  absl::string_view last;
};

bool IsName(absl::string_view text) {
  const auto is_edge = [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); };
  return !text.empty() && is_edge(text.front()) && is_edge(text.back());
}

std::optional<Split> SplitLast(absl::string_view text) {
  const size_t dash = text.rfind('-');
  if (dash == absl::string_view::npos) return std::nullopt;
  const Split split = {text.substr(0, dash), text.substr(dash + 1)};
  if (!IsName(split.head) || split.last.empty()) return std::nullopt;
  return split;
}

bool IsRandom(absl::string_view text) {
  return text.size() == kRandomSize && std::ranges::all_of(text, [](char c) {
           return kRandomAlphabet.find(c) != absl::string_view::npos;
         });
}

// Parses an ordinal or index as controllers write it: no leading zero.
std::optional<int> Ordinal(absl::string_view text) {
  int number = 0;
  if (!std::ranges::all_of(text, absl::ascii_isdigit)) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

bool IsHash(absl::string_view text) {
  uint64_t number = 0;
  if (text.empty() || text.size() > 10 || text[0] == kHashDigits[0]) return false;
  for (const char c : text) {
    const size_t digit = kHashDigits.find(c);
    if (digit == absl::string_view::npos) return false;
    number = 10 * number + digit;
  }
  return number <= std::numeric_limits<uint32_t>::max();
}

class Owners {
 public:
  explicit Owners(absl::string_view pod) : pod_(pod) {}

  std::vector<PodOwner> Find() {
    const std::optional<Split> split = SplitLast(pod_);
    if (split && IsRandom(split->last)) AddGenerated(split->head);
    if (split) AddOrdinal(*split);
    AddRay();
    return std::move(owners_);
  }

 private:
  void Add(absl::string_view kind, absl::string_view name, absl::string_view group = "") {
    PodOwner owner = {
        .kind = std::string(kind), .name = std::string(name), .group = std::string(group)};
    if (std::ranges::find(owners_, owner) == owners_.end()) owners_.push_back(std::move(owner));
  }

  // `base` is the name without its random part.
  void AddGenerated(absl::string_view base) {
    if (base.size() + 1 > kLongestBase) return;
    const std::optional<Split> split = SplitLast(base);
    const bool has_hash = split && IsHash(split->last);
    if (has_hash) AddTemplated(split->head);
    if (has_hash && split->last.size() >= kSureHashSize) return;
    if (split && Ordinal(split->last)) AddIndexed(split->head);
    for (const absl::string_view kind : {"ReplicaSet", "DaemonSet", "Job"}) Add(kind, base);
  }

  // Adds owners of pods that have a template's hash in the name.
  void AddTemplated(absl::string_view name) {
    Add("Deployment", name);
    Add("Rollout", name);
    absl::string_view service = WithoutRevision(name);
    if (absl::ConsumeSuffix(&service, "-predictor") && IsName(service)) {
      Add("InferenceService", service);
    }
  }

  // Returns the service's part of the name of a Deployment that Knative made,
  // "web-predictor-00001-deployment".
  static absl::string_view WithoutRevision(absl::string_view name) {
    constexpr size_t kRevisionSize = 5;
    absl::string_view service = name;
    if (!absl::ConsumeSuffix(&service, "-deployment")) return name;
    const std::optional<Split> split = SplitLast(service);
    const bool is_revision = split && split->last.size() == kRevisionSize &&
                             std::ranges::all_of(split->last, absl::ascii_isdigit);
    return is_revision ? split->head : name;
  }

  // Adds owners of pods of an indexed Job, and of the Jobs of a JobSet:
  // "<set>-<job>-<j>-<i>-<random>", where both names may have dashes.
  void AddIndexed(absl::string_view name) {
    Add("Job", name);
    const std::optional<Split> job = SplitLast(name);
    if (!job || !Ordinal(job->last)) return;
    AddPrefixes("JobSet", job->head);
  }

  // Adds each possible owner in "a-b-c": `kind` a-b if the part's name is c, and a if it is b-c.
  void AddPrefixes(absl::string_view kind, absl::string_view text) {
    for (std::optional<Split> split = SplitLast(text); split; split = SplitLast(split->head)) {
      Add(kind, split->head);
    }
  }

  void AddOrdinal(const Split& split) {
    const std::optional<int> ordinal = Ordinal(split.last);
    if (!ordinal) return;
    Add("StatefulSet", split.head);
    Add("LeaderWorkerSet", split.head, pod_);  // a leader's name is that of its group
    const std::optional<Split> group = SplitLast(split.head);
    if (group && Ordinal(group->last) && *ordinal > 0) {
      Add("LeaderWorkerSet", group->head, split.head);
    }
  }

  void AddRay() {
    absl::string_view base = pod_;
    const std::optional<Split> split = SplitLast(pod_);
    if (split && IsRandom(split->last)) base = split->head;
    if (base.size() >= kLongestRayBase) return;
    if (absl::ConsumeSuffix(&base, "-head") && IsName(base)) {
      AddRayCluster(base);
    } else if (base.size() < pod_.size() && absl::ConsumeSuffix(&base, "-worker")) {
      for (auto group = SplitLast(base); group; group = SplitLast(group->head)) {
        AddRayCluster(group->head);
      }
    }
  }

  void AddRayCluster(absl::string_view name) {
    Add("RayCluster", name);
    const std::optional<Split> split = SplitLast(name);
    if (split && IsRandom(split->last)) Add("RayService", split->head);
  }

  const absl::string_view pod_;
  std::vector<PodOwner> owners_;
};

}  // namespace

std::vector<PodOwner> OwnersByName(absl::string_view pod) { return Owners(pod).Find(); }

}  // namespace gpuscaler
