// A fake kubelet on a node of simulated GPUs (bench/simulated_node.py).
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kubelet/fake_kubelet.h"

// Gives each of COUNT GPUs to a different pod, and prints "sockets POD_RESOURCES PODS_API". Ends at
// the end of standard input.
int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: simulated_kubelet FOLDER COUNT\n";
    return 2;
  }
  gpuscaler::FakeKubelet kubelet(argv[1]);
  const int count = std::atoi(argv[2]);
  for (int gpu = 0; gpu < count; ++gpu) {
    kubelet.AddPod("team-a", absl::StrCat("llm-6d4cf56db6-x7k2", gpu),
                   {{.container = "vllm",
                     .resource = "nvidia.com/gpu",
                     .id = absl::StrFormat("GPU-00000000-0000-0000-0000-%012d", gpu)}});
  }
  std::cout << "sockets " << kubelet.pod_resources_socket() << " " << kubelet.pods_api_socket()
            << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) continue;
  return 0;
}
