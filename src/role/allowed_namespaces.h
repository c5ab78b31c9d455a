// The option --allow-namespaces, which lets ScaledObjects see pods of other namespaces.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/allowed_namespaces.h"

namespace gpuscaler {

// With "team-a:team-b,team-a:team-c" ScaledObjects of team-a also see the pods of team-b and
// team-c, but not the reverse. An empty text allows none. Returns INVALID_ARGUMENT with the allowed
// form.
absl::StatusOr<AllowedNamespaces> ParseAllowedNamespaces(absl::string_view text);

// Returns true for a valid name of a namespace: a DNS label (RFC 1123).
bool IsNamespace(absl::string_view name);

}  // namespace gpuscaler
