#include "app/commands.h"

namespace gpuscaler {

std::vector<Command> AllCommands() {
  return {ServeCommand(),  GpusCommand(), QueryCommand(),      LintCommand(), DemoCommand(),
          EngineCommand(), LoadCommand(), CompletionCommand(), ManCommand(),  ReferenceCommand()};
}

}  // namespace gpuscaler
