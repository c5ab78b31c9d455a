// Reduces requests with metadata that is too large to cache.
#pragma once

#include "externalscaler.pb.h"

namespace gpuscaler {

// Returns only the keys that the spec depends on, without values of more than 1 KiB. GetMetricSpec
// must return a spec for any metadata.
externalscaler::ScaledObjectRef OnlySpecKeys(const externalscaler::ScaledObjectRef& ref);

}  // namespace gpuscaler
