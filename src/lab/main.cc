#include "lab/lab_commands.h"

int main(int argc, char** argv) {
  return gpuscaler::RunProgram(gpuscaler::LabProgram(), argc, argv);
}
