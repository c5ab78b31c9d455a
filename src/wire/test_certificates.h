// The certificates of base/test_ca.h as files.
//
//   const TlsFiles files = WriteTls(folder.path(), server, other_ca.pem());
#pragma once

#include <string>

#include "base/test_ca.h"
#include "wire/tls_files.h"

namespace gpuscaler {

// Writes cert.pem, key.pem and, unless it is empty, ca.pem into `folder`, over older ones.
TlsFiles WriteTls(const std::string& folder, const TestCertificate& pair,
                  const std::string& client_ca);

}  // namespace gpuscaler
