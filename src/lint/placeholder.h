// What is filled in between a file and the cluster, by Flux, envsubst or Helm.
#pragma once

#include "absl/strings/string_view.h"

namespace gpuscaler {

// ${NAME}, $NAME, $(NAME) or {{ .name }} is in it: nobody can tell from the file what it will be.
bool HasPlaceholder(absl::string_view text);

}  // namespace gpuscaler
