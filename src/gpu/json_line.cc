#include "gpu/json_line.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using Json = nlohmann::json;

// Counts the characters that the parser has read, which its events do not include.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  size_t* count_;
};

// Follows the parser's events and stops it at the path, or at the first error if there is no path.
class PathFinder : public nlohmann::json_sax<Json> {
 public:
  PathFinder(std::optional<absl::string_view> path, const size_t* read)
      : path_(path), read_(read) {}

  size_t FoundAt() const { return found_at_; }

  bool null() override { return Value(); }
  bool boolean(bool) override { return Value(); }
  // The parser has to read the character behind a number to see its end.
  bool number_integer(number_integer_t) override { return Value(1); }
  bool number_unsigned(number_unsigned_t) override { return Value(1); }
  bool number_float(number_float_t, const string_t&) override { return Value(1); }
  bool string(string_t&) override { return Value(); }
  bool binary(binary_t&) override { return Value(); }
  bool start_object(size_t) override { return Open(false); }
  bool start_array(size_t) override { return Open(true); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& key) override {
    const std::string& parent = open_.back().path;
    open_.back().member = parent.empty() ? key : absl::StrCat(parent, ".", key);
    return Visit(open_.back().member, 0);
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    found_at_ = *read_ - std::min<size_t>(*read_, 1);  // an empty text has no last character
    return false;
  }

 private:
  struct Container {
    std::string path;
    bool is_array;
    int next_index = 0;
    std::string member;  // objects only: the path of the member being read
  };

  // Returns the path of the value that begins now.
  std::string Next() {
    if (open_.empty()) return "";
    Container& parent = open_.back();
    return parent.is_array ? absl::StrCat(parent.path, "[", parent.next_index++, "]")
                           : parent.member;
  }
  bool Value(size_t read_ahead = 0) { return Visit(Next(), read_ahead); }
  bool Open(bool is_array) {
    std::string path = Next();
    const bool continues = Visit(path, 0);
    open_.push_back({.path = std::move(path), .is_array = is_array});
    return continues;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }
  bool Visit(const std::string& here, size_t read_ahead) {
    if (here != path_) return true;
    found_at_ = *read_ - read_ahead;
    return false;
  }

  const std::optional<absl::string_view> path_;
  const size_t* const read_;
  size_t found_at_ = 0;
  std::vector<Container> open_;
};

int LineOf(absl::string_view text, std::optional<absl::string_view> path) {
  size_t read = 0;
  PathFinder finder(path, &read);
  Json::sax_parse(CountingIterator(text.data(), &read),
                  CountingIterator(text.data() + text.size(), &read), &finder);
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(finder.FoundAt());
  return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

}  // namespace

int JsonLine(absl::string_view text, absl::string_view path) { return LineOf(text, path); }

int JsonErrorLine(absl::string_view text) { return LineOf(text, std::nullopt); }

}  // namespace gpuscaler
