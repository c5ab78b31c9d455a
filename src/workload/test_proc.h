// A fake /proc with the pods and networks of a node, whether fake or real.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/test_folder.h"
#include "workload/node_folders.h"

namespace gpuscaler {

class TestProc {
 public:
  TestProc() {
    folder_.AddFolder("proc");
    folder_.AddFolder("pods");
  }

  NodeFolders folders() const {
    return {.proc = folder_.PathOf("proc"), .pod_logs = folder_.PathOf("pods")};
  }

  static std::string Uid(int number) {
    return absl::StrFormat("0f3c1d2e-5a6b-4c7d-8e9f-%012d", number);
  }

  // Adds a process of the pod with that number; 0: of no pod.
  void AddProcess(int64_t pid, int pod, const std::string& net) {
    const std::string of_pod =
        absl::StrCat("/kubepods/burstable/pod", Uid(pod), "/", std::string(64, 'a'));
    Write(pid, "cgroup", absl::StrCat("0::", pod == 0 ? "/init.scope" : of_pod, "\n"));
    Write(pid, "stat",
          absl::StrCat(pid, " (python3) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ", ++started_,
                       " 0 0\n"));
    std::filesystem::create_directory_symlink(net, Folder(pid) + "/net");
  }

  // Adds a real process of this machine under another id, with its network and sockets.
  void AddRealProcess(int64_t pid, int pod, pid_t real) {
    AddProcess(pid, pod, absl::StrCat("/proc/", real, "/net"));
    std::filesystem::create_directory_symlink(absl::StrCat("/proc/", real, "/fd"),
                                              Folder(pid) + "/fd");
  }

  void End(int64_t pid) { std::filesystem::remove_all(Folder(pid)); }

  // Adds a network with one address and one listener, for AddProcess().
  std::string AddNetwork(const std::string& name, int port) {
    folder_.Write(name + "/fib_trie", "|-- 10.1.2.3\n   /32 host LOCAL\n");
    std::string net = folder_.PathOf(name);
    Listen(net, port);
    return net;
  }
  void Listen(const std::string& net, int port) {
    std::ofstream(net + "/tcp") << absl::StrFormat(
        "0: 00000000:%04X 00000000:0000 0A 0 0 0 0 0 %d\n", port, port);
  }

  void AddLogs(const std::string& pod, int uid) {
    folder_.AddFolder(absl::StrCat("pods/shop_", pod, "_", Uid(uid)));
  }

 private:
  std::string Folder(int64_t pid) const { return absl::StrCat(folders().proc, "/", pid); }
  void Write(int64_t pid, const std::string& name, const std::string& text) const {
    folder_.Write(absl::StrCat("proc/", pid, "/", name), text);
  }

  const TestFolder folder_;
  int started_ = 0;
};

}  // namespace gpuscaler
