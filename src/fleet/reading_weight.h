// How much memory readings take: an agent's message of a few bytes may stand for thousands of pods.
#pragma once

#include <cstddef>

#include "model/node_snapshot.h"

namespace gpuscaler {

// Bytes, about: of everything that a node may have many of.
size_t WeightOf(const NodeSnapshot& snapshot);

// Bytes, about: of a reading, and of what a history keeps of it (model/node_history.h).
struct ReadingWeight {
  size_t whole = 0;   // WeightOf()
  size_t alone = 0;   // kept whatever came before
  size_t behind = 0;  // kept behind the reading before it
};

// `before` null: there is none.
ReadingWeight StoredWeightOf(const NodeSnapshot* before, const NodeSnapshot& snapshot);

}  // namespace gpuscaler
