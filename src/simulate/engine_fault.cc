#include "simulate/engine_fault.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr size_t kBigPageBytes = size_t{10} << 20;
constexpr size_t kGarbageBytes = size_t{64} << 10;

struct FaultName {
  EngineFault fault;
  const char* name;
};
constexpr FaultName kFaultNames[] = {
    {EngineFault::kNone, "none"},         {EngineFault::kHang, "hang"},
    {EngineFault::kCrash, "crash"},       {EngineFault::kBigPage, "big-page"},
    {EngineFault::kGarbage, "garbage"},   {EngineFault::kEndless, "endless"},
    {EngineFault::kRedirect, "redirect"}, {EngineFault::kError, "error"},
};

// Valid lines of a metric that no reader uses.
std::string BigPage() {
  std::string page;
  for (int i = 0; page.size() < kBigPageBytes; ++i) {
    absl::StrAppend(&page, "vllm:filler{engine=\"0\",model_name=\"", i, "\"} 1\n");
  }
  return page;
}

std::string Garbage() {
  std::string page(kGarbageBytes, '\0');
  uint32_t state = 1;
  for (char& byte : page) {
    state = state * 1664525 + 1013904223;  // Numerical Recipes' generator
    byte = static_cast<char>(state >> 24);
  }
  return page;
}

}  // namespace

std::vector<std::string> EngineFaultNames() {
  std::vector<std::string> names;
  for (const FaultName& row : kFaultNames) names.emplace_back(row.name);
  return names;
}

EngineFault EngineFaultNamed(absl::string_view name) {
  const auto* const found =
      std::ranges::find_if(kFaultNames, [name](const FaultName& row) { return row.name == name; });
  return found == std::end(kFaultNames) ? EngineFault::kNone : found->fault;
}

std::string FaultyPage(EngineFault fault) {
  if (fault == EngineFault::kBigPage) return BigPage();
  if (fault == EngineFault::kGarbage) return Garbage();
  return "";
}

absl::string_view EndlessPart() { return "# there is more to come\n"; }

}  // namespace gpuscaler
