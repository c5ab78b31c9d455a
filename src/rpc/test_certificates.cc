#include "rpc/test_certificates.h"

#include <fstream>

namespace gpuscaler {
namespace {

void Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

TlsFiles WriteTls(const std::string& folder, const TestPair& pair, const std::string& client_ca) {
  TlsFiles files{.cert = folder + "/cert.pem", .key = folder + "/key.pem"};
  Write(files.cert, pair.cert);
  Write(files.key, pair.key);
  if (client_ca.empty()) return files;
  files.client_ca = folder + "/ca.pem";
  Write(files.client_ca, client_ca);
  return files;
}

}  // namespace gpuscaler
