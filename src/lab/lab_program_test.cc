#include <fstream>
#include <sstream>

#include "app/reference_page.h"
#include "gtest/gtest.h"
#include "lab/lab_commands.h"

namespace gpuscaler {
namespace {

TEST(LabReferencePage, IsTheCommittedOne) {
  std::ifstream file(GPUSCALER_SOURCE_DIR "/docs/lab-reference.md");
  std::stringstream committed;
  committed << file.rdbuf();
  EXPECT_TRUE(committed.str() == CommandsPage(LabProgram(), LabExitCodes()))
      << "docs/lab-reference.md is behind the code: build the target reference_page";
}

}  // namespace
}  // namespace gpuscaler
