// Memory that streams held, given back to the system once they have gone.
#pragma once

namespace gpuscaler {

// The C library keeps what is freed, for ever where something small still lies above it: after
// 10,000 streams the process would stay as large as they made it. One thread's.
class FreedMemory {
 public:
  // With the number of streams open now. True when memory was given back: once half of the streams
  // have gone, and a hundred at least, since the last time.
  bool Tick(int streams_open);

 private:
  int most_ = 0;
};

}  // namespace gpuscaler
