#include "app/command.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/nearest.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {

Flag TextFlag(std::string name, std::string value, std::string help, std::string* variable) {
  return {.name = std::move(name),
          .value = std::move(value),
          .help = std::move(help),
          .default_text = *variable,
          .set = [variable](const std::string& text) {
            *variable = text;
            return absl::OkStatus();
          }};
}

Flag SwitchFlag(std::string name, std::string help, bool* variable) {
  return {
      .name = std::move(name), .help = std::move(help), .set = [variable](const std::string& text) {
        *variable = text == "true";
        return absl::OkStatus();
      }};
}

Flag WordFlag(std::string name, std::string value, absl::string_view help,
              std::vector<std::string> words, std::string* variable) {
  const std::string allowed = JoinedWithOr({words.begin(), words.end()});
  Flag flag = TextFlag(std::move(name), std::move(value),
                       absl::StrCat(absl::StripSuffix(help, "."), ": ", allowed, "."), variable);
  flag.words = words;
  flag.set = [words = std::move(words), variable](const std::string& text) {
    *variable = text;
    if (std::ranges::find(words, text) != words.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("use ", absl::StrJoin(words, ", "),
                                                   DidYouMean(text, {words.begin(), words.end()})));
  };
  return flag;
}

Flag ListFlag(std::string name, std::string value, std::string help,
              std::vector<std::string>* variable) {
  return {.name = std::move(name),
          .value = std::move(value),
          .help = std::move(help),
          .set =
              [variable](const std::string& text) {
                variable->push_back(text);
                return absl::OkStatus();
              },
          .repeats = true};
}

Flag IntFlag(std::string name, const std::string& help, IntRange range, int* variable) {
  const bool bounded = range.most < std::numeric_limits<int>::max();
  const std::string allowed = bounded ? absl::StrCat("from ", range.least, " to ", range.most)
                                      : absl::StrCat("of at least ", range.least);
  return {.name = std::move(name),
          .value = "NUMBER",
          .help = bounded ? absl::StrCat(help, " ", range.least, " to ", range.most, ".") : help,
          .default_text = absl::StrCat(*variable),
          .set = [range, allowed, variable](const std::string& text) {
            const bool is_number = absl::SimpleAtoi(text, variable);
            if (is_number && range.least <= *variable && *variable <= range.most) {
              return absl::OkStatus();
            }
            return absl::InvalidArgumentError(absl::StrCat("use a whole number ", allowed));
          }};
}

}  // namespace gpuscaler
