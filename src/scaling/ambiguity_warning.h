// Why the pods that a trigger counts may be others than meant.
#pragma once

#include <string>

namespace gpuscaler {

struct AmbiguityWarning {
  // What is ambiguous, whoever else holds GPUs, or holds them in turn.
  enum class About {
    kNothing,
    kNoPods,    // nobody's pods hold GPUs, and others' do: a slip in a name looks like that
    kSameKind,  // a pod may as well be another's, whose name begins alike
    kGuess,     // nothing names the pods, and they are of the only owner
  };
  About about = About::kNothing;
  std::string text;  // empty: nothing is ambiguous
};

}  // namespace gpuscaler
