#include "app/commands.h"

namespace gpuscaler {

Program ScalerProgram() {
  return {.name = "keda-gpu-scaler",
          .summary = "scales Kubernetes workloads on what their GPUs do, as a KEDA external scaler",
          .commands = {ServeCommand(), GpusCommand(), QueryCommand(), LintCommand(),
                       CompletionCommand(), ManCommand(), ReferenceCommand()}};
}

}  // namespace gpuscaler
