// The kinds of what pods are known to belong to, and what kubectl calls them besides.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// As Kubernetes spells them: "Deployment", ..., "Pod". There may be others: of a controller of
// one's own, whose pods the kubelet's Pods API tells.
const std::vector<absl::string_view>& WorkloadKinds();

bool IsWorkloadKind(absl::string_view kind);  // in whatever case, as `workload` takes it

// Their pods have names of one form, by which alone nobody tells whose they are: of owners of one
// name they may be either's. Of two different kinds.
bool HaveAlikePods(absl::string_view kind, absl::string_view other);

// What kubectl takes for a kind, and no owner of a pod has: KindBehind("sts"), of "statefulsets"
// and of "StatefulSet.apps" it is "StatefulSet". Empty: it is no such word.
absl::string_view KindBehind(absl::string_view word);

}  // namespace gpuscaler
