// The kinds of owners of pods, and kubectl's other words for them.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns the kinds as Kubernetes spells them: "Deployment", ..., "Pod". There may be others, of
// custom controllers: the kubelet's Pods API reports these.
const std::vector<absl::string_view>& WorkloadKinds();

bool IsWorkloadKind(absl::string_view kind);  // ignores case, as `workload` does

// Returns true for two different kinds with pod names of one form. If an owner of each kind has the
// same name, the name of a pod does not show its owner.
bool HaveSamePodNames(absl::string_view kind, absl::string_view other);

// Returns the kind behind a word of kubectl that is no kind of an owner: "StatefulSet" for "sts",
// "statefulsets" and "StatefulSet.apps". Empty: it is no such word.
absl::string_view KindForWord(absl::string_view word);

}  // namespace gpuscaler
