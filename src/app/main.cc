#include "app/commands.h"

int main(int argc, char** argv) {
  return gpuscaler::RunProgram(gpuscaler::ScalerProgram(), argc, argv);
}
