// The output of `gpus`: pure renderers. Unknown is null, blank or "-", and never 0.
#pragma once

#include <string>
#include <vector>

#include "app/job_environment.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

struct GpusPage {
  NodeSnapshot snapshot;  // the GPUs to print
  JobEnvironment job;
  std::vector<std::string> notes;
};

std::string GpusTable(const GpusPage& page);
std::string GpusJson(const GpusPage& page, bool one_line);
std::string GpusCsvHeader();
std::string GpusCsv(const GpusPage& page);  // rows without the header

}  // namespace gpuscaler
