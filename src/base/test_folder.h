// A temporary folder of one test, removed with all its files by the destructor. Must be declared
// before the objects that use it.
//
//   const TestFolder folder;
//   FileSource source(folder.Write("gpus.json", R"({"gpus": []})"), "gpu-7", clock);
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "gtest/gtest.h"

namespace gpuscaler {

class TestFolder {
 public:
  TestFolder() {
    // The name is short, because the path of a socket in it has 107 bytes at most.
    std::string path = (std::filesystem::path(testing::TempDir()) / "test_XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      std::perror(path.c_str());
      std::abort();
    }
    path_ = path;
  }
  // A forked child process leaves the folder to its parent.
  ~TestFolder() {
    std::error_code ignored;
    if (getpid() == owner_) std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

  // Writes `text` to a file in the folder, replacing its content, and returns its path. Creates
  // the parent folders in `name`.
  std::string Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = PathOf(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  std::string AddFolder(const std::string& name) const {
    std::string path = PathOf(name);
    std::filesystem::create_directories(path);
    return path;
  }

 private:
  const pid_t owner_ = getpid();
  std::string path_;
};

}  // namespace gpuscaler
