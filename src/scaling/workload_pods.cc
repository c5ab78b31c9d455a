#include "scaling/workload_pods.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

using Pods = std::vector<const Pod*>;

constexpr size_t kOwnersNamed = 8;
constexpr size_t kOthersNamed = 5;

// A pod without an owner is a workload of its own.
std::vector<PodOwner> OwnersOf(const Pod& pod) {
  if (!pod.owners.empty()) return pod.owners;
  return {{.kind = "Pod", .name = pod.name, .group = ""}};
}

std::string NameOf(const PodOwner& owner) { return absl::StrCat(owner.kind, "/", owner.name); }

bool IsOwner(const PodOwner& owner, absl::string_view kind, absl::string_view name) {
  return owner.name == name && (kind.empty() || absl::EqualsIgnoreCase(owner.kind, kind));
}

bool HasOwner(const Pod& pod, absl::string_view kind, absl::string_view name) {
  if (pod.owners.empty()) return IsOwner(OwnersOf(pod).front(), kind, name);
  return std::ranges::any_of(pod.owners,
                             [&](const PodOwner& owner) { return IsOwner(owner, kind, name); });
}

// Returns "team-b/" for a pod of another namespace than the ScaledObject's.
std::string NamespacePrefix(const ScaledObjectRef& scaled_object, const Pod& pod) {
  const bool is_other_namespace = pod.namespace_name != scaled_object.namespace_name;
  return is_other_namespace ? absl::StrCat(pod.namespace_name, "/") : "";
}

// Returns "Deployment/llm", or all possible owners of a pod with owners that are guessed from its
// name.
std::string OwnersText(const ScaledObjectRef& scaled_object, const Pod& pod) {
  const std::vector<PodOwner> owners = OwnersOf(pod);
  const std::string prefix = NamespacePrefix(scaled_object, pod);
  if (pod.owners_from == Pod::OwnersFrom::kReferences) {
    return absl::StrCat(prefix, NameOf(owners.front()));
  }
  std::vector<std::string> names;
  for (const PodOwner& owner : owners) names.push_back(absl::StrCat(prefix, NameOf(owner)));
  return absl::StrJoin(names, " or ");
}

std::string AllOwnersText(const ScaledObjectRef& scaled_object, const Pods& pods,
                          size_t most = kOwnersNamed) {
  std::set<std::string> texts;
  for (const Pod* pod : pods) texts.insert(OwnersText(scaled_object, *pod));
  return ListText(texts, most);
}

// Only an unresolved owner counts. An empty `kind` means any kind.
bool MayBeOwnedBy(const Pod& pod, absl::string_view kind) {
  if (!HasUnresolvedOwner(pod)) return false;
  if (pod.owners.empty()) return true;
  constexpr absl::string_view kNeverOwnReplicaSets[] = {"DaemonSet", "Job", "Pod", "ReplicaSet",
                                                        "StatefulSet"};
  return std::ranges::none_of(kNeverOwnReplicaSets, [kind](absl::string_view other) {
    return absl::EqualsIgnoreCase(other, kind);
  });
}

// An owner is common if every pod has or may have it. The nearest owner comes first.
std::vector<PodOwner> CommonOwners(const Pods& pods) {
  std::vector<PodOwner> common = OwnersOf(*pods.front());
  std::erase_if(common, [&](const PodOwner& owner) {
    return !std::ranges::all_of(pods, [&](const Pod* pod) {
      return pod->namespace_name == pods.front()->namespace_name &&
             HasOwner(*pod, owner.kind, owner.name);
    });
  });
  return common;
}

// Returns another owner of that kind that fits the pod's name, or null. Pods of a group are not
// ambiguous: their names contain their owner's and their group's.
const PodOwner* OtherOfKind(const Pod& pod, absl::string_view kind, absl::string_view name) {
  if (pod.owners_from == Pod::OwnersFrom::kReferences) return nullptr;
  const PodOwner* other = nullptr;
  for (const PodOwner& owner : pod.owners) {
    if (IsOwner(owner, kind, name) && !owner.group.empty()) return nullptr;
    const bool is_other = absl::EqualsIgnoreCase(owner.kind, kind) && owner.name != name;
    if (is_other && other == nullptr) other = &owner;
  }
  return other;
}

// Returns a warning if, by their names, some of `named` fit only the requested owner and others
// also fit another owner of its kind. The first ones prove that the requested owner exists. The
// others may be its own or those of a workload with a similar name. All of them count.
AmbiguityWarning SameKindAmbiguity(absl::string_view kind, absl::string_view name,
                                   const Pods& named) {
  const auto others = [&](const Pod* pod) { return OtherOfKind(*pod, kind, name); };
  const auto may_be_other =
      std::ranges::find_if(named, [&](const Pod* pod) { return others(pod) != nullptr; });
  if (may_be_other == named.end()) return {};
  if (std::ranges::all_of(named, [&](const Pod* pod) { return others(pod) != nullptr; })) return {};
  return {.about = AmbiguityWarning::About::kSameKind,
          .text = absl::StrCat("counts pod ", (*may_be_other)->name, ", which may as well be of ",
                               NameOf(*others(*may_be_other)),
                               " by its name: add podRegex to be sure")};
}

constexpr char kNamingHint[] = ": add workload: Kind/NAME, or podRegex";

// An empty `kind` means any kind. Pods of other workloads do not matter.
absl::StatusOr<PodSelection> SelectNamed(const ScaledObjectRef& scaled_object,
                                         const std::string& kind, const std::string& name,
                                         const Pods& pods) {
  Pods named;
  std::ranges::copy_if(pods, std::back_inserter(named),
                       [&](const Pod* pod) { return HasOwner(*pod, kind, name); });
  const std::string full_name = kind.empty() ? name : absl::StrCat(kind, "/", name);
  if (named.empty())
    return PodSelection(scaled_object, kind, name, absl::StrCat("pods of ", full_name));
  const auto ambiguous = std::ranges::find_if(
      named, [&](const Pod* pod) { return kind.empty() && IsAmbiguous(*pod); });
  if (ambiguous != named.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("workload ", Quoted(name), ": pod ", (*ambiguous)->name, " may be of ",
                     OwnersText(scaled_object, **ambiguous), " by its name", kNamingHint));
  }
  std::vector<PodOwner> common = CommonOwners(named);
  std::erase_if(common, [&](const PodOwner& owner) { return !IsOwner(owner, kind, name); });
  if (common.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("several workloads are called ", Quoted(full_name), ": ",
                     AllOwnersText(scaled_object, named), kNamingHint));
  }
  if (common.size() > 1)
    return PodSelection(scaled_object, "", name, absl::StrCat("pods of ", name));
  PodSelection selection(scaled_object, common[0].kind, name,
                         absl::StrCat("pods of ", NameOf(common[0])));
  if (!kind.empty()) selection.set_ambiguity(SameKindAmbiguity(kind, name, named));
  return selection;
}

AmbiguityWarning GuessAmbiguity(const ScaledObjectRef& scaled_object,
                                const PodSelection& selection) {
  return {.about = AmbiguityWarning::About::kGuess,
          .text = absl::StrCat(
              "counts ", selection.description(), ", the only owner of GPU pods in namespace ",
              scaled_object.namespace_name, ", which is not named like the ScaledObject ",
              Quoted(scaled_object.name), ": add workload to be sure")};
}

// `owner` must be one that all the pods have or may have.
PodSelection SelectionOfOwner(const ScaledObjectRef& scaled_object, const PodOwner& owner,
                              const Pods& pods) {
  const bool sure =
      pods.front()->owners_from == Pod::OwnersFrom::kReferences || CommonOwners(pods).size() == 1;
  return PodSelection(
      scaled_object, owner.kind, owner.name,
      sure ? absl::StrCat("pods of ", NameOf(owner)) : absl::StrCat("pods of ", owner.name));
}

// Selects the workload named like the ScaledObject, which has or may have some of `pods`. If one of
// those may also have another owner, it must be a possible owner of all `pods`; otherwise returns
// FAILED_PRECONDITION.
absl::StatusOr<PodSelection> SelectByScaledObjectName(const ScaledObjectRef& scaled_object,
                                                      const Pods& pods) {
  const bool ambiguous = std::ranges::any_of(pods, [&](const Pod* pod) {
    return HasOwner(*pod, "", scaled_object.name) && IsAmbiguous(*pod);
  });
  if (!ambiguous) return SelectNamed(scaled_object, "", scaled_object.name, pods);
  const std::vector<PodOwner> common = CommonOwners(pods);
  const auto like_scaled_object = std::ranges::find(common, scaled_object.name, &PodOwner::name);
  if (like_scaled_object != common.end())
    return SelectionOfOwner(scaled_object, *like_scaled_object, pods);
  return SelectNamed(scaled_object, "", scaled_object.name, pods);
}

// Pods with owners in common: the owners that every pod has, or may have.
struct OwnerPods {
  std::vector<PodOwner> owners;
  Pods pods;
};

bool HasAnyOwner(const Pod& pod, const OwnerPods& group) {
  return pod.namespace_name == group.pods.front()->namespace_name &&
         std::ranges::any_of(group.owners, [&](const PodOwner& owner) {
           return HasOwner(pod, owner.kind, owner.name);
         });
}

std::vector<OwnerPods> ByOwner(const Pods& pods) {
  std::vector<OwnerPods> groups;
  for (const Pod* pod : pods) {
    const auto group = std::ranges::find_if(
        groups, [pod](const OwnerPods& each) { return HasAnyOwner(*pod, each); });
    if (group == groups.end()) {
      groups.push_back({.owners = OwnersOf(*pod), .pods = {pod}});
      continue;
    }
    std::erase_if(group->owners,
                  [pod](const PodOwner& owner) { return !HasOwner(*pod, owner.kind, owner.name); });
    group->pods.push_back(pod);
  }
  return groups;
}

// Returns true if no ScaledObject scales an owner of these pods: Jobs, JobSets and DaemonSets. A
// ReplicaSet that is only guessed from names is ignored: "batch-x7k2p" may be its pod, but nearly
// all ReplicaSets belong to a Deployment, which adds a second hash.
bool IsNeverScaled(const OwnerPods& group) {
  const bool by_name = std::ranges::all_of(
      group.pods, [](const Pod* pod) { return pod->owners_from == Pod::OwnersFrom::kName; });
  return std::ranges::all_of(group.owners, [by_name](const PodOwner& owner) {
    return owner.kind == "Job" || owner.kind == "JobSet" || owner.kind == "DaemonSet" ||
           (by_name && owner.kind == "ReplicaSet");
  });
}

// Agents of earlier versions do not send the owner's time. InfinitePast: not known.
absl::Time OwnerListedSince(const Pod& pod) {
  return pod.owner_listed_since.value_or(pod.listed_since.value_or(absl::InfinitePast()));
}

// Pods on any node count, including those that are gone.
absl::Time ListedSince(const OwnerPods& group, const Pods& past) {
  absl::Time since = absl::InfiniteFuture();
  for (const Pod* pod : group.pods) since = std::min(since, OwnerListedSince(*pod));
  for (const Pod* pod : past) {
    if (HasAnyOwner(*pod, group)) since = std::min(since, OwnerListedSince(*pod));
  }
  return since;
}

// Returns the pods of the owner that has had pods for longest, so that an owner that was alone
// still counts after another gets pods. Returns all pods if no owner was surely the first.
Pods PodsOfFirstOwner(const Pods& pods, const Pods& past) {
  constexpr absl::Duration kSurelyBefore = absl::Seconds(15);  // kubelets are polled every 5 s
  std::vector<OwnerPods> groups = ByOwner(pods);
  if (!std::ranges::all_of(groups, IsNeverScaled)) std::erase_if(groups, IsNeverScaled);
  if (groups.size() == 1) return groups.front().pods;
  std::vector<absl::Time> since;
  for (const OwnerPods& group : groups) since.push_back(ListedSince(group, past));
  std::vector<absl::Time> sorted = since;
  std::ranges::sort(sorted);
  const bool is_sure = sorted[0] != absl::InfinitePast() && sorted[1] - sorted[0] > kSurelyBefore;
  const auto first = std::ranges::min_element(since);
  return is_sure ? groups[static_cast<size_t>(first - since.begin())].pods : pods;
}

// Prefers a Deployment to its ReplicaSet, which every rollout replaces.
const PodOwner& LongestLived(const std::vector<PodOwner>& owners) {
  const auto lasting = std::ranges::find_if(
      owners, [](const PodOwner& owner) { return owner.kind != "ReplicaSet"; });
  return lasting == owners.end() ? owners.front() : *lasting;
}

// Requires pods, none of which has an owner named like the ScaledObject.
absl::StatusOr<PodSelection> SelectOnlyOwner(const ScaledObjectRef& scaled_object,
                                             const Pods& pods) {
  const std::vector<PodOwner> common = CommonOwners(pods);
  if (common.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "GPU pods of several owners are in namespace ", scaled_object.namespace_name, ": ",
        AllOwnersText(scaled_object, pods), "; none is named like the ScaledObject ",
        Quoted(scaled_object.name), kNamingHint));
  }
  PodSelection selection = SelectionOfOwner(scaled_object, LongestLived(common), pods);
  selection.set_ambiguity(GuessAmbiguity(scaled_object, selection));
  return selection;
}

bool AnyHasOwner(absl::string_view kind, absl::string_view name, const Pods& pods) {
  return std::ranges::any_of(pods, [&](const Pod* pod) { return HasOwner(*pod, kind, name); });
}

// Pods without a GPU of their own count only if there are no others.
PodsWithGpus WithGpu(const PodsWithGpus& seen) {
  PodsWithGpus with_gpu = seen;
  for (Pods* const pods : {&with_gpu.holding, &with_gpu.past}) {
    std::erase_if(*pods, [&](const Pod* pod) { return seen.without_gpu.contains(pod); });
  }
  return with_gpu.holding.empty() && with_gpu.past.empty() ? seen : with_gpu;
}

// Selects without the keys workload and podRegex. Past pods of the workload named like the
// ScaledObject have precedence over pods of others, so that it may scale to zero.
absl::StatusOr<PodSelection> SelectUnnamed(const ScaledObjectRef& scaled_object,
                                           const PodsWithGpus& seen) {
  for (const Pods* pods : {&seen.holding, &seen.past}) {
    if (AnyHasOwner("", scaled_object.name, *pods))
      return SelectByScaledObjectName(scaled_object, *pods);
  }
  const auto [holding, past, without_gpu] = WithGpu(seen);
  const Pods& pods = holding.empty() ? past : holding;
  if (!pods.empty()) return SelectOnlyOwner(scaled_object, PodsOfFirstOwner(pods, past));
  return PodSelection(scaled_object, "", "",
                      absl::StrCat("pods of namespace ", scaled_object.namespace_name));
}

bool AnySelected(const PodSelection& selection, const Pods& pods) {
  return std::ranges::any_of(pods, [&](const Pod* pod) { return selection.Has(*pod); });
}

// Returns "; is Deployment/llm meant?" if pods of that name hold GPUs; otherwise nothing.
std::string KindMeantText(const ScaledObjectRef& scaled_object, const Trigger& trigger,
                          const Pods& holding) {
  if (trigger.workload_kind.empty()) return "";
  Pods named;
  std::ranges::copy_if(holding, std::back_inserter(named),
                       [&](const Pod* pod) { return HasOwner(*pod, "", trigger.workload); });
  if (named.empty()) return "";
  return absl::StrCat("; is ", AllOwnersText(scaled_object, named, kOthersNamed), " meant?");
}

// A misspelt name looks like a workload that is scaled to zero.
absl::StatusOr<PodSelection> WarnIfNoPods(const Trigger& trigger,
                                          const ScaledObjectRef& scaled_object,
                                          const PodsWithGpus& seen,
                                          absl::StatusOr<PodSelection> selection) {
  if (!selection.ok() || seen.holding.empty()) return selection;
  if (AnySelected(*selection, seen.holding) || AnySelected(*selection, seen.past)) return selection;
  selection->set_ambiguity(
      {.about = AmbiguityWarning::About::kNoPods,
       .text = absl::StrCat("no ", selection->description(), " hold GPUs; those of namespace ",
                            scaled_object.namespace_name, " are held by ",
                            AllOwnersText(scaled_object, seen.holding, kOthersNamed),
                            KindMeantText(scaled_object, trigger, seen.holding))});
  return selection;
}

Pods Visible(const ScaledObjectRef& scaled_object, const Pods& pods) {
  Pods visible;
  std::ranges::copy_if(pods, std::back_inserter(visible),
                       [&](const Pod* pod) { return scaled_object.MaySee(pod->namespace_name); });
  return visible;
}

}  // namespace

bool ScaledObjectRef::MaySee(absl::string_view namespace_of_pod) const {
  return namespace_of_pod == namespace_name ||
         std::ranges::find(allowed_namespaces, namespace_of_pod) != allowed_namespaces.end();
}

PodSelection::PodSelection(const ScaledObjectRef& scaled_object,
                           std::shared_ptr<const re2::RE2> regex)
    : scaled_object_(scaled_object),
      regex_(std::move(regex)),
      description_(absl::StrCat("pods matching ", Quoted(regex_->pattern()))) {}

PodSelection::PodSelection(const ScaledObjectRef& scaled_object, std::string kind, std::string name,
                           std::string description)
    : scaled_object_(scaled_object),
      kind_(std::move(kind)),
      name_(std::move(name)),
      description_(std::move(description)) {}

const PodOwner* PodSelection::OwnerOf(const Pod& pod) const {
  const auto owner = std::ranges::find_if(
      pod.owners, [this](const PodOwner& owner) { return IsOwner(owner, kind_, name_); });
  return owner == pod.owners.end() ? nullptr : &*owner;
}

bool PodSelection::Has(const Pod& pod) const {
  if (!scaled_object_.MaySee(pod.namespace_name)) return false;
  return regex_ == nullptr ? HasOwner(pod, kind_, name_) : RE2::FullMatch(pod.name, *regex_);
}

std::string PodSelection::GroupOf(const Pod& pod) const {
  const PodOwner* const owner = regex_ == nullptr ? OwnerOf(pod) : nullptr;
  if (owner != nullptr && !owner->group.empty()) return owner->group;
  if (pod.owners.empty()) return "";
  if (pod.owners_from == Pod::OwnersFrom::kReferences) {
    const auto grouped = std::ranges::find_if(
        pod.owners, [](const PodOwner& of_pod) { return !of_pod.group.empty(); });
    return grouped == pod.owners.end() ? "" : grouped->group;
  }
  const std::string& group = pod.owners.front().group;  // podRegex: only if all owners agree
  const bool agreed =
      owner == nullptr &&
      std::ranges::all_of(pod.owners, [&](const PodOwner& other) { return other.group == group; });
  return agreed ? group : "";
}

absl::StatusOr<PodSelection> SelectPods(const Trigger& trigger,
                                        const ScaledObjectRef& scaled_object,
                                        const PodsWithGpus& seen) {
  const PodsWithGpus visible{.holding = Visible(scaled_object, seen.holding),
                             .past = Visible(scaled_object, seen.past),
                             .without_gpu = seen.without_gpu};
  if (trigger.pod_regex != nullptr) {
    return WarnIfNoPods(trigger, scaled_object, visible,
                        PodSelection(scaled_object, trigger.pod_regex));
  }
  if (trigger.workload.empty()) return SelectUnnamed(scaled_object, visible);
  const bool holds = AnyHasOwner(trigger.workload_kind, trigger.workload, visible.holding);
  return WarnIfNoPods(trigger, scaled_object, visible,
                      SelectNamed(scaled_object, trigger.workload_kind, trigger.workload,
                                  holds ? visible.holding : visible.past));
}

absl::Status CheckOwnersResolved(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                                 const PodSelection& selection, const Pods& holding) {
  if (trigger.pod_regex != nullptr || AnySelected(selection, holding)) return absl::OkStatus();
  std::set<std::string> unresolved;
  for (const Pod* pod : holding) {
    if (!MayBeOwnedBy(*pod, trigger.workload_kind)) continue;
    const std::string nearest =
        pod->owners.empty() ? "" : absl::StrCat(" of ", NameOf(pod->owners.front()));
    unresolved.insert(absl::StrCat(NamespacePrefix(scaled_object, *pod), pod->name, nearest));
  }
  if (unresolved.empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "no ", selection.description(), " are known, and pods with an unknown owner hold GPUs: ",
      ListText(unresolved, kOthersNamed), kNamingHint));
}

bool NeedsPastPods(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                   const Pods& holding) {
  if (trigger.pod_regex != nullptr) {
    return !AnySelected(PodSelection(scaled_object, trigger.pod_regex),
                        Visible(scaled_object, holding));
  }
  const std::string& name = trigger.workload.empty() ? scaled_object.name : trigger.workload;
  return !AnyHasOwner(trigger.workload_kind, name, Visible(scaled_object, holding));
}

PodInterest PodsOfInterest(const Trigger& trigger, const ScaledObjectRef& scaled_object) {
  PodInterest wanted{.namespaces = scaled_object.allowed_namespaces};
  wanted.namespaces.push_back(scaled_object.namespace_name);
  const bool of_any_owner = trigger.pod_regex != nullptr || trigger.gpu_index >= 0;
  if (of_any_owner) return wanted;
  wanted.owner = trigger.workload.empty() ? scaled_object.name : trigger.workload;
  wanted.or_any_owner = trigger.workload.empty();
  return wanted;
}

}  // namespace gpuscaler
