#include "app/commands.h"

#include "app/version.h"

namespace gpuscaler {

Program ScalerProgram() {
  return {
      .name = "keda-gpu-scaler",
      .summary = "scales Kubernetes workloads on what their GPUs do, as a KEDA external scaler",
      .commands = {ServeCommand(), GpusCommand(), QueryCommand(), TopCommand(), ExplainCommand(),
                   LintCommand(), ReportCommand(), VersionCommand("keda-gpu-scaler"),
                   CompletionCommand(), ManCommand(), ReferenceCommand()}};
}

}  // namespace gpuscaler
