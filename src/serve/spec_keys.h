// What is left of a question that is too large to keep.
#pragma once

#include "externalscaler.pb.h"

namespace gpuscaler {

// The keys that the spec depends on, where their values are of a sane length: GetMetricSpec has to
// answer whatever the metadata is (DESIGN 3).
externalscaler::ScaledObjectRef OnlySpecKeys(const externalscaler::ScaledObjectRef& ref);

}  // namespace gpuscaler
