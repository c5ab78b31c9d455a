#include "app/commands.h"

namespace gpuscaler {

std::vector<Command> AllCommands() { return {ServeCommand(), GpusCommand(), DemoCommand()}; }

}  // namespace gpuscaler
