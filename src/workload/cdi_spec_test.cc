#include "workload/cdi_spec.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// A specification as the driver writes it, shortened.
constexpr char kSpec[] = R"(---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidia-modeset
  - path: /dev/nvidiactl
  hooks:
  - args: [nvidia-ctk, hook, update-ldcache]
    hookName: createContainer
    path: /usr/bin/nvidia-ctk
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia3
    - hostPath: /dev/dri/card1
      path: /dev/dri/card1
  name: dab5ab50-gpu-3
- name: dab5ab50-gpu-4
kind: k8s.gpu.nvidia.com/claim
)";

TEST(ParseCdiSpec, HasOnlyTheOwnNodesOfEachDevice) {
  const auto devices = ParseCdiSpec(kSpec);
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_THAT(*devices,
              ElementsAre(Pair("dab5ab50-gpu-3", ElementsAre("/dev/nvidia3", "/dev/dri/card1")),
                          Pair("dab5ab50-gpu-4", IsEmpty())));
}

TEST(ParseCdiSpec, OtherTextIsAnErrorAndNotAnEmptySpec) {
  for (const char* const text :
       {"", "[]", "devices: 1", "devices: [{}]", "devices: [{name: [x]}]", "{", "devices: [x]",
        "devices: [{name: x, containerEdits: {deviceNodes: [{hostPath: /dev/nvidia0}]}}]"}) {
    const auto devices = ParseCdiSpec(text);
    EXPECT_EQ(devices.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(devices.status().message()), HasSubstr("no CDI specification: "));
  }
}

TEST(ParseCdiSpec, ListThatAliasesMultiplyIsRefused) {
  std::string yaml = "nodes: &nodes\n";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&yaml, "- path: /dev/nvidia", i, "\n");
  absl::StrAppend(&yaml, "devices:\n");
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&yaml, "- {name: a", i, ", containerEdits: {deviceNodes: *nodes}}\n");
  }
  EXPECT_THAT(std::string(ParseCdiSpec(yaml).status().message()), HasSubstr("too many"));
}

}  // namespace
}  // namespace gpuscaler
