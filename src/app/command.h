// A subcommand as data, from which help, man page, completion and parser are generated.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

struct Flag {
  std::string name;   // without the leading dashes
  std::string value;  // placeholder of the value in help; empty: a switch
  std::string help;
  std::string default_text;        // empty: none
  std::vector<std::string> words;  // the only values allowed; empty: any
  // Returns INVALID_ARGUMENT with what is allowed. A switch gets "true". Called once with the last
  // value, or, if `repeats`, once per value.
  std::function<absl::Status(const std::string& value)> set;
  bool repeats = false;
};

struct Command {
  std::string name;
  std::string help;
  std::string arguments;  // "ADDRESS [KEY=VALUE...]"; empty: none allowed
  std::vector<Flag> flags;
  // Called after the flags were set. Prints its errors and returns the exit code of the process.
  std::function<int(const std::vector<std::string>& arguments)> run;
  bool hidden = false;  // useful only when building the program
};

// Return flags that set a variable, which must outlive the command.
Flag TextFlag(std::string name, std::string value, std::string help, std::string* variable);
Flag SwitchFlag(std::string name, std::string help, bool* variable);
// The help ends with the allowed words: "Format of the output: text or json."
Flag WordFlag(std::string name, std::string value, absl::string_view help,
              std::vector<std::string> words, std::string* variable);
Flag ListFlag(std::string name, std::string value, std::string help,
              std::vector<std::string>* variable);
struct IntRange {
  int least;
  int most = std::numeric_limits<int>::max();
};
// The help ends with the range if it is bounded.
Flag IntFlag(std::string name, const std::string& help, IntRange range, int* variable);

}  // namespace gpuscaler
