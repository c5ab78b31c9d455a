// device-metrics-exporter, AMD's.
#pragma once

#include "gpu/exporter_schema.h"

namespace gpuscaler {

const ExporterSchema& AmdExporterSchema();

}  // namespace gpuscaler
