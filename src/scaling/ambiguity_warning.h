// Why the pods that a trigger counts may not be the intended ones.
#pragma once

#include <string>

namespace gpuscaler {

struct AmbiguityWarning {
  // The kind of ambiguity. A trigger logs each kind once, so it must not depend on which other pods
  // hold GPUs.
  enum class About {
    kNothing,
    kNoPods,    // no pod of the workload holds a GPU and others do: the name may be misspelt
    kSameKind,  // a pod's name fits another owner of the same kind as well
    kGuess,     // no key names the pods, and they have the only owner
  };
  About about = About::kNothing;
  std::string text;  // empty: nothing is ambiguous
};

}  // namespace gpuscaler
