// A subcommand as data: what help, man page, completion and the parser are all made from.
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
  std::string value;  // what help shows for the value; empty: a switch
  std::string help;
  std::string default_text;        // "" where there is none
  std::vector<std::string> words;  // the only values allowed; empty: any
  // INVALID_ARGUMENT says what is allowed; a switch gets "true". Called once, with the last value
  // given, or, where it `repeats`, with each.
  std::function<absl::Status(const std::string& value)> set;
  bool repeats = false;
};

struct Command {
  std::string name;
  std::string help;
  std::string arguments;  // "ADDRESS [KEY=VALUE...]"; empty: takes none
  std::vector<Flag> flags;
  // After the flags were set; the process's exit code. Says itself what went wrong.
  std::function<int(const std::vector<std::string>& arguments)> run;
  bool hidden = false;  // of use to who builds the program only
};

// Flags that set a variable; it outlives the command.
Flag TextFlag(std::string name, std::string value, std::string help, std::string* variable);
Flag SwitchFlag(std::string name, std::string help, bool* variable);
// The help ends with the words: "Format of the output: text or json."
Flag WordFlag(std::string name, std::string value, absl::string_view help,
              std::vector<std::string> words, std::string* variable);
Flag ListFlag(std::string name, std::string value, std::string help,
              std::vector<std::string>* variable);
struct IntRange {
  int least;
  int most = std::numeric_limits<int>::max();
};
// The help ends with the range where it has an end.
Flag IntFlag(std::string name, const std::string& help, IntRange range, int* variable);

}  // namespace gpuscaler
