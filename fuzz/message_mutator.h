// Protobuf messages as inputs. libFuzzer's random bytes are rarely a message, so this mutates
// fields.
//
// An input has messages in protobuf's text format, separated by lines "---".
#pragma once

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/common.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "libfuzzer.h"

namespace gpuscaler {

inline bool IsUtf8(const std::string& text) {
  return google::protobuf::internal::IsStructurallyValidUTF8(text.data(),
                                                             static_cast<int>(text.size()));
}

// Skips messages that do not parse, or could not be sent (a string that is not UTF-8).
template <typename Message>
std::vector<Message> MessagesIn(absl::string_view input) {
  struct Silent : google::protobuf::io::ErrorCollector {
    void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  };
  Silent silent;
  google::protobuf::SetLogHandler(nullptr);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  std::vector<Message> messages;
  for (const absl::string_view text : absl::StrSplit(input, "---\n")) {
    Message parsed;
    Message received;
    if (!parser.ParseFromString(std::string(text), &parsed)) continue;
    if (!received.ParseFromString(parsed.SerializeAsString())) continue;
    messages.push_back(std::move(received));
  }
  return messages;
}

// Changes one field of a message, or of a nested message.
class FieldMutator {
 public:
  explicit FieldMutator(unsigned seed) : random_(seed) {}

  int Below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  void Mutate(google::protobuf::Message& message) {
    const auto& descriptor = *message.GetDescriptor();
    if (descriptor.field_count() == 0) return;
    const auto& field = *descriptor.field(Below(descriptor.field_count()));
    const auto& reflection = *message.GetReflection();
    if (field.is_repeated()) return MutateList(message, reflection, field);
    if (Below(8) == 0) return reflection.ClearField(&message, &field);
    if (field.cpp_type() == Field::CPPTYPE_MESSAGE) {
      return Mutate(*reflection.MutableMessage(&message, &field));
    }
    MutateValue(message, reflection, field);
  }

 private:
  using Field = google::protobuf::FieldDescriptor;
  using Reflection = google::protobuf::Reflection;

  void MutateList(google::protobuf::Message& message, const Reflection& reflection,
                  const Field& field) {
    const int size = reflection.FieldSize(message, &field);
    const bool is_of_messages = field.cpp_type() == Field::CPPTYPE_MESSAGE;
    if (size > 0 && Below(8) == 0) return reflection.RemoveLast(&message, &field);
    if (size > 0 && is_of_messages && Below(4) != 0) {
      return Mutate(*reflection.MutableRepeatedMessage(&message, &field, Below(size)));
    }
    if (size > 0 && field.cpp_type() == Field::CPPTYPE_STRING && Below(2) == 0) {
      const int at = Below(size);
      return reflection.SetRepeatedString(
          &message, &field, at, Mutated(reflection.GetRepeatedString(message, &field, at), field));
    }
    if (is_of_messages) {
      auto& added = *reflection.AddMessage(&message, &field);
      if (size == 0) return Mutate(added);
      added.CopyFrom(reflection.GetRepeatedMessage(message, &field, Below(size)));
      return;
    }
    AddValue(message, reflection, field);
  }

  void AddValue(google::protobuf::Message& message, const Reflection& reflection,
                const Field& field) {
    switch (field.cpp_type()) {
      case Field::CPPTYPE_DOUBLE:
        return reflection.AddDouble(&message, &field, MutatedDouble(0));
      case Field::CPPTYPE_UINT32:
        return reflection.AddUInt32(&message, &field, Mutated<uint32_t>(0));
      case Field::CPPTYPE_UINT64:
        return reflection.AddUInt64(&message, &field, Mutated<uint64_t>(0));
      case Field::CPPTYPE_INT64:
        return reflection.AddInt64(&message, &field, Mutated<int64_t>(0));
      case Field::CPPTYPE_STRING:
        return reflection.AddString(&message, &field, Mutated("", field));
      default:
        return;
    }
  }

  void MutateValue(google::protobuf::Message& message, const Reflection& reflection,
                   const Field& field) {
    switch (field.cpp_type()) {
      case Field::CPPTYPE_DOUBLE:
        return reflection.SetDouble(&message, &field,
                                    MutatedDouble(reflection.GetDouble(message, &field)));
      case Field::CPPTYPE_INT32:
        return reflection.SetInt32(&message, &field, Mutated(reflection.GetInt32(message, &field)));
      case Field::CPPTYPE_INT64:
        return reflection.SetInt64(&message, &field, Mutated(reflection.GetInt64(message, &field)));
      case Field::CPPTYPE_UINT32:
        return reflection.SetUInt32(&message, &field,
                                    Mutated(reflection.GetUInt32(message, &field)));
      case Field::CPPTYPE_UINT64:
        return reflection.SetUInt64(&message, &field,
                                    Mutated(reflection.GetUInt64(message, &field)));
      case Field::CPPTYPE_BOOL:
        return reflection.SetBool(&message, &field, !reflection.GetBool(message, &field));
      case Field::CPPTYPE_STRING:
        return reflection.SetString(&message, &field,
                                    Mutated(reflection.GetString(message, &field), field));
      case Field::CPPTYPE_ENUM:
        return reflection.SetEnumValue(&message, &field, AnyValue(*field.enum_type()));
      default:
        return;
    }
  }

  template <typename Integer>
  Integer Mutated(Integer value) {
    switch (Below(6)) {
      case 0:
        return std::numeric_limits<Integer>::min();
      case 1:
        return std::numeric_limits<Integer>::max();
      case 2:
        return static_cast<Integer>(Below(5));
      default:
        LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(&value), sizeof(value), sizeof(value));
        return value;
    }
  }

  double MutatedDouble(double value) {
    constexpr double kSpecial[] = {0,
                                   -1,
                                   1,
                                   100.001,
                                   1e15,
                                   1e300,
                                   std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};
    if (Below(2) == 0) return kSpecial[Below(static_cast<int>(std::size(kSpecial)))];
    LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(&value), sizeof(value), sizeof(value));
    return value;
  }

  // A later version may have values that this one does not.
  int AnyValue(const google::protobuf::EnumDescriptor& type) {
    return Below(4) == 0 ? Below(40) - 1 : type.value(Below(type.value_count()))->number();
  }

  std::string Mutated(std::string text, const Field& field) {
    constexpr size_t kMaxAdded = 70;  // Kubernetes names have up to 63
    if (Below(16) == 0) return TextOfEdgeLength();
    const size_t size = text.size();
    text.resize(size + kMaxAdded);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
    if (field.type() == Field::TYPE_STRING && !IsUtf8(text)) {
      for (char& byte : text) byte = static_cast<char>(byte & 0x7F);
    }
    return text;
  }

  // Lengths in bytes around the limits of names, UUIDs and texts for people (fleet/wire_text.h).
  std::string TextOfEdgeLength() {
    constexpr size_t kLengths[] = {63, 64, 96, 97, 253, 254, 1023, 1024, 1025};
    const size_t length = kLengths[Below(static_cast<int>(std::size(kLengths)))];
    if (Below(2) == 0) return std::string(length, 'a');
    std::string text(length % 2, 'a');
    while (text.size() < length) text += "\u00e9";  // 2 bytes
    return text;
  }

  std::mt19937 random_;
};

// Implements LLVMFuzzerCustomMutator().
template <typename Message>
size_t MutateMessages(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  FieldMutator mutator(seed);
  if (mutator.Below(16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  auto messages = MessagesIn<Message>({reinterpret_cast<const char*>(data), size});
  if (messages.empty()) messages.emplace_back();
  const int at = mutator.Below(static_cast<int>(messages.size()));
  const int how = mutator.Below(16);
  if (how == 0) messages.push_back(Message(messages[static_cast<size_t>(at)]));
  if (how == 1) messages.erase(messages.begin() + at);
  if (how > 1) mutator.Mutate(messages[static_cast<size_t>(at)]);
  const std::string text = absl::StrJoin(
      messages, "---\n", [](std::string* out, const Message& m) { out->append(m.DebugString()); });
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::ranges::copy(text, data);
  return text.size();
}

}  // namespace gpuscaler
