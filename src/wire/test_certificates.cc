#include "wire/test_certificates.h"

#include <filesystem>
#include <fstream>
#include <map>

namespace gpuscaler {
namespace {

// Renames whole files, one right after the other: a program that reloads them meanwhile reads no
// half of one, and hardly a certificate beside another one's key.
void Replace(const std::map<std::string, std::string>& contents) {
  const auto unfinished = [](const std::string& path) { return path + ".new"; };
  for (const auto& [path, content] : contents) {
    std::ofstream(unfinished(path), std::ios::binary) << content;
  }
  for (const auto& [path, content] : contents) std::filesystem::rename(unfinished(path), path);
}

}  // namespace

TlsFiles WriteTls(const std::string& folder, const TestCertificate& pair,
                  const std::string& client_ca) {
  TlsFiles files{.cert = folder + "/cert.pem", .key = folder + "/key.pem"};
  if (!client_ca.empty()) files.client_ca = folder + "/ca.pem";
  std::map<std::string, std::string> contents = {{files.cert, pair.cert}, {files.key, pair.key}};
  if (!client_ca.empty()) contents[files.client_ca] = client_ca;
  Replace(contents);
  return files;
}

}  // namespace gpuscaler
