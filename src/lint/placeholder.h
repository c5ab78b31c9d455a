// Placeholders that Flux, envsubst or Helm replaces before a file is applied.
#pragma once

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns true if the text has ${NAME}, $NAME, $(NAME) or {{ .name }}, so that its value is
// unknown.
bool HasPlaceholder(absl::string_view text);

}  // namespace gpuscaler
