// OpenSSL's errors of handshakes as the faults that we count and log.
#pragma once

#include <string>

#include "wire/refused_handshakes.h"

namespace gpuscaler {

// `error` is one of OpenSSL's queue.
HandshakeFault FaultOfTlsError(unsigned long error);

// "peer did not return a certificate"
std::string TextOfTlsError(unsigned long error);

}  // namespace gpuscaler
