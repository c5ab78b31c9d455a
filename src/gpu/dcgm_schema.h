// dcgm-exporter, NVIDIA's.
#pragma once

#include "gpu/exporter_schema.h"

namespace gpuscaler {

const ExporterSchema& DcgmSchema();

}  // namespace gpuscaler
