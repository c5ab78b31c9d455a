#include "scaling/workload_pods.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

using Pods = std::vector<const Pod*>;

constexpr size_t kOwnersNamed = 8;
constexpr size_t kOthersNamed = 5;

// A pod of nobody's is a workload of its own.
std::vector<PodOwner> OwnersOf(const Pod& pod) {
  if (!pod.owners.empty()) return pod.owners;
  return {{.kind = "Pod", .name = pod.name, .group = ""}};
}

std::string NameOf(const PodOwner& owner) { return absl::StrCat(owner.kind, "/", owner.name); }

bool IsOne(const PodOwner& owner, absl::string_view kind, absl::string_view name) {
  return owner.name == name && (kind.empty() || absl::EqualsIgnoreCase(owner.kind, kind));
}

bool HasOwner(const Pod& pod, absl::string_view kind, absl::string_view name) {
  if (pod.owners.empty()) return IsOne(OwnersOf(pod).front(), kind, name);
  return std::ranges::any_of(pod.owners,
                             [&](const PodOwner& owner) { return IsOne(owner, kind, name); });
}

// "Deployment/llm"; of a pod that is known by its name alone all that it may be.
std::string OwnersText(const Asker& asker, const Pod& pod) {
  const std::vector<PodOwner> owners = OwnersOf(pod);
  const std::string outside =
      pod.namespace_name == asker.namespace_name ? "" : absl::StrCat(pod.namespace_name, "/");
  if (pod.owners_from == Pod::OwnersFrom::kReferences) {
    return absl::StrCat(outside, NameOf(owners.front()));
  }
  std::vector<std::string> names;
  for (const PodOwner& owner : owners) names.push_back(absl::StrCat(outside, NameOf(owner)));
  return absl::StrJoin(names, " or ");
}

std::string AllOwnersText(const Asker& asker, const Pods& pods, size_t most = kOwnersNamed) {
  std::set<std::string> texts;
  for (const Pod* pod : pods) texts.insert(OwnersText(asker, *pod));
  const size_t more = texts.size() - std::min(texts.size(), most);
  while (texts.size() > most) texts.erase(std::prev(texts.end()));
  return absl::StrCat(absl::StrJoin(texts, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// Owners that every pod has or may have, the nearest first.
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

// By its name alone it may as well be of another owner of that kind; null: it may not. The members
// of a group have their owner's name and their group's in theirs, as any group's have.
const PodOwner* OtherOfKind(const Pod& pod, absl::string_view kind, absl::string_view name) {
  if (pod.owners_from == Pod::OwnersFrom::kReferences) return nullptr;
  const PodOwner* other = nullptr;
  for (const PodOwner& owner : pod.owners) {
    if (IsOne(owner, kind, name) && !owner.group.empty()) return nullptr;
    const bool is_other = absl::EqualsIgnoreCase(owner.kind, kind) && owner.name != name;
    if (is_other && other == nullptr) other = &owner;
  }
  return other;
}

// Of pods that all are, or may be, of the owner that was asked for, some can be no other's of its
// kind, so that it is there, and one can: a part of it with a longer name, or of another workload,
// whose name begins alike. No name tells, and what is asked for stands.
Doubt SameKindDoubt(absl::string_view kind, absl::string_view name, const Pods& named) {
  const auto others = [&](const Pod* pod) { return OtherOfKind(*pod, kind, name); };
  const auto may_be_other =
      std::ranges::find_if(named, [&](const Pod* pod) { return others(pod) != nullptr; });
  if (may_be_other == named.end()) return {};
  if (std::ranges::all_of(named, [&](const Pod* pod) { return others(pod) != nullptr; })) return {};
  return {.about = Doubt::About::kSameKind,
          .text = absl::StrCat("counts pod ", (*may_be_other)->name, ", which may as well be of ",
                               NameOf(*others(*may_be_other)),
                               " by its name: say podRegex to be sure")};
}

constexpr char kSayMore[] = ": say workload: Kind/NAME, or podRegex";

// The workload of that name; an empty kind: of whatever kind. Pods of others do not matter.
absl::StatusOr<PodSelection> SelectNamed(const Asker& asker, const std::string& kind,
                                         const std::string& name, const Pods& pods) {
  Pods named;
  std::ranges::copy_if(pods, std::back_inserter(named),
                       [&](const Pod* pod) { return HasOwner(*pod, kind, name); });
  const std::string called = kind.empty() ? name : absl::StrCat(kind, "/", name);
  if (named.empty()) return PodSelection(asker, kind, name, absl::StrCat("pods of ", called));
  const auto ambiguous = std::ranges::find_if(
      named, [&](const Pod* pod) { return kind.empty() && IsAmbiguous(*pod); });
  if (ambiguous != named.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("workload ", Quoted(name), ": pod ", (*ambiguous)->name, " may be of ",
                     OwnersText(asker, **ambiguous), " by its name", kSayMore));
  }
  std::vector<PodOwner> common = CommonOwners(named);
  std::erase_if(common, [&](const PodOwner& owner) { return !IsOne(owner, kind, name); });
  if (common.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("several workloads are called ",
                                                      Quoted(called), ": ",
                                                      AllOwnersText(asker, named), kSayMore));
  }
  if (common.size() > 1) return PodSelection(asker, "", name, absl::StrCat("pods of ", name));
  PodSelection selection(asker, common[0].kind, name, absl::StrCat("pods of ", NameOf(common[0])));
  if (!kind.empty()) selection.Put(SameKindDoubt(kind, name, named));
  return selection;
}

Doubt GuessDoubt(const Asker& asker, const PodSelection& selection) {
  return {.about = Doubt::About::kGuess,
          .text = absl::StrCat("counts ", selection.what(),
                               ", the only owner of GPU pods in namespace ", asker.namespace_name,
                               ", which is not named like the ScaledObject ", Quoted(asker.name),
                               ": say workload to be sure")};
}

// `owner` is one of those that all the pods have or may have.
PodSelection OfOwner(const Asker& asker, const PodOwner& owner, const Pods& pods) {
  const bool sure =
      pods.front()->owners_from == Pod::OwnersFrom::kReferences || CommonOwners(pods).size() == 1;
  return PodSelection(
      asker, owner.kind, owner.name,
      sure ? absl::StrCat("pods of ", NameOf(owner)) : absl::StrCat("pods of ", owner.name));
}

// The one named like the ScaledObject, of pods that it has some of. Only where one of these may as
// well be another's does it matter who else is there: all of them may be its own, or not.
absl::StatusOr<PodSelection> SelectLike(const Asker& asker, const Pods& pods) {
  const bool ambiguous = std::ranges::any_of(
      pods, [&](const Pod* pod) { return HasOwner(*pod, "", asker.name) && IsAmbiguous(*pod); });
  if (!ambiguous) return SelectNamed(asker, "", asker.name, pods);
  const std::vector<PodOwner> common = CommonOwners(pods);
  const auto like_asker = std::ranges::find(common, asker.name, &PodOwner::name);
  if (like_asker != common.end()) return OfOwner(asker, *like_asker, pods);
  return SelectNamed(asker, "", asker.name, pods);
}

// Of pods that are somebody's, and none is named like the ScaledObject.
absl::StatusOr<PodSelection> SelectTheOnlyOne(const Asker& asker, const Pods& pods) {
  const std::vector<PodOwner> common = CommonOwners(pods);
  if (common.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("GPU pods of several owners are in namespace ", asker.namespace_name, ": ",
                     AllOwnersText(asker, pods), "; none is named like the ScaledObject ",
                     Quoted(asker.name), kSayMore));
  }
  PodSelection selection = OfOwner(asker, common.front(), pods);
  selection.Put(GuessDoubt(asker, selection));
  return selection;
}

bool AnyOf(absl::string_view kind, absl::string_view name, const Pods& pods) {
  return std::ranges::any_of(pods, [&](const Pod* pod) { return HasOwner(*pod, kind, name); });
}

// Without workload and podRegex. While the workload of that name sleeps at zero, the pods of
// another are not taken for its own.
absl::StatusOr<PodSelection> SelectUnnamed(const Asker& asker, const SeenPods& seen) {
  for (const Pods* pods : {&seen.holding, &seen.past}) {
    if (AnyOf("", asker.name, *pods)) return SelectLike(asker, *pods);
  }
  if (!seen.holding.empty()) return SelectTheOnlyOne(asker, seen.holding);
  if (!seen.past.empty()) return SelectTheOnlyOne(asker, seen.past);
  return PodSelection(asker, "", "", absl::StrCat("pods of namespace ", asker.namespace_name));
}

bool AnyIn(const PodSelection& selection, const Pods& pods) {
  return std::ranges::any_of(pods, [&](const Pod* pod) { return selection.Has(*pod); });
}

// `; is Deployment/llm meant?`, where pods of that name hold GPUs; or nothing.
std::string KindMeantText(const Asker& asker, const Trigger& trigger, const Pods& holding) {
  if (trigger.workload_kind.empty()) return "";
  Pods named;
  std::ranges::copy_if(holding, std::back_inserter(named),
                       [&](const Pod* pod) { return HasOwner(*pod, "", trigger.workload); });
  if (named.empty()) return "";
  return absl::StrCat("; is ", AllOwnersText(asker, named, kOthersNamed), " meant?");
}

// A name with a slip in it looks like a workload that sleeps.
absl::StatusOr<PodSelection> DoubtIfNobodys(const Trigger& trigger, const Asker& asker,
                                            const SeenPods& seen,
                                            absl::StatusOr<PodSelection> selection) {
  if (!selection.ok() || seen.holding.empty()) return selection;
  if (AnyIn(*selection, seen.holding) || AnyIn(*selection, seen.past)) return selection;
  selection->Put({.about = Doubt::About::kNobodys,
                  .text = absl::StrCat("no ", selection->what(), " hold GPUs; those of namespace ",
                                       asker.namespace_name, " are held by ",
                                       AllOwnersText(asker, seen.holding, kOthersNamed),
                                       KindMeantText(asker, trigger, seen.holding))});
  return selection;
}

Pods Visible(const Asker& asker, const Pods& pods) {
  Pods visible;
  std::ranges::copy_if(pods, std::back_inserter(visible),
                       [&](const Pod* pod) { return asker.MaySee(pod->namespace_name); });
  return visible;
}

}  // namespace

bool Asker::MaySee(absl::string_view namespace_of_pod) const {
  return namespace_of_pod == namespace_name ||
         std::ranges::find(opened, namespace_of_pod) != opened.end();
}

PodSelection::PodSelection(const Asker& asker, std::shared_ptr<const re2::RE2> regex)
    : asker_(asker),
      regex_(std::move(regex)),
      what_(absl::StrCat("pods matching ", Quoted(regex_->pattern()))) {}

PodSelection::PodSelection(const Asker& asker, std::string kind, std::string name, std::string what)
    : asker_(asker), kind_(std::move(kind)), name_(std::move(name)), what_(std::move(what)) {}

const PodOwner* PodSelection::OwnerOf(const Pod& pod) const {
  const auto owner = std::ranges::find_if(
      pod.owners, [this](const PodOwner& owner) { return IsOne(owner, kind_, name_); });
  return owner == pod.owners.end() ? nullptr : &*owner;
}

bool PodSelection::Has(const Pod& pod) const {
  if (!asker_.MaySee(pod.namespace_name)) return false;
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
  const std::string& group = pod.owners.front().group;  // of podRegex: where all agree
  const bool agreed =
      owner == nullptr &&
      std::ranges::all_of(pod.owners, [&](const PodOwner& other) { return other.group == group; });
  return agreed ? group : "";
}

absl::StatusOr<PodSelection> SelectPods(const Trigger& trigger, const Asker& asker,
                                        const SeenPods& seen) {
  const SeenPods visible{.holding = Visible(asker, seen.holding),
                         .past = Visible(asker, seen.past)};
  if (trigger.pod_regex != nullptr) {
    return DoubtIfNobodys(trigger, asker, visible, PodSelection(asker, trigger.pod_regex));
  }
  if (trigger.workload.empty()) return SelectUnnamed(asker, visible);
  const bool holds = AnyOf(trigger.workload_kind, trigger.workload, visible.holding);
  return DoubtIfNobodys(trigger, asker, visible,
                        SelectNamed(asker, trigger.workload_kind, trigger.workload,
                                    holds ? visible.holding : visible.past));
}

bool AsksForThePast(const Trigger& trigger, const Asker& asker, const Pods& holding) {
  if (trigger.pod_regex != nullptr) {
    return !AnyIn(PodSelection(asker, trigger.pod_regex), Visible(asker, holding));
  }
  const std::string& name = trigger.workload.empty() ? asker.name : trigger.workload;
  return !AnyOf(trigger.workload_kind, name, Visible(asker, holding));
}

PodsWanted WantedPods(const Trigger& trigger, const Asker& asker) {
  PodsWanted wanted{.namespaces = asker.opened};
  wanted.namespaces.push_back(asker.namespace_name);
  const bool of_whoever = trigger.pod_regex != nullptr || trigger.gpu_index >= 0;
  if (of_whoever) return wanted;
  wanted.owner = trigger.workload.empty() ? asker.name : trigger.workload;
  wanted.or_whoevers = trigger.workload.empty();
  return wanted;
}

}  // namespace gpuscaler
