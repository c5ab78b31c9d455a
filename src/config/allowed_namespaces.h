// --allow-namespaces: the walls between namespaces that the operator opens.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/allowed_namespaces.h"

namespace gpuscaler {

// "team-a:team-b,team-a:team-c": ScaledObjects of team-a see the pods of these two as well; nothing
// follows for the other way round. Empty: none. INVALID_ARGUMENT says what is allowed.
absl::StatusOr<AllowedNamespaces> ParseAllowedNamespaces(absl::string_view text);

// Returns true if a namespace may be called so: Kubernetes' DNS label (RFC 1123).
bool IsNamespace(absl::string_view name);

}  // namespace gpuscaler
