#include "wire/parse_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <string>

namespace gpuscaler {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MessageFactory;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// No message takes more memory for each of its bytes: an empty Gpu has 2 of them, and takes 330.
constexpr size_t kLargestGrowth = 170;

bool IsFixedSize(FieldDescriptor::Type type) {
  return type == FieldDescriptor::TYPE_DOUBLE || type == FieldDescriptor::TYPE_FLOAT ||
         type == FieldDescriptor::TYPE_FIXED64 || type == FieldDescriptor::TYPE_FIXED32 ||
         type == FieldDescriptor::TYPE_SFIXED64 || type == FieldDescriptor::TYPE_SFIXED32;
}

// Counts the memory of a message's fields, each as if it was repeated.
class MemoryBound {
 public:
  MemoryBound(absl::string_view bytes, size_t most_bytes)
      : input_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())),
        left_(most_bytes) {}

  // Returns false if the rest of `input_` is no message of the type, or takes too much memory.
  bool Holds(const Descriptor& type) {
    constexpr size_t kPointer = sizeof(void*);
    const auto* const empty = MessageFactory::generated_factory()->GetPrototype(&type);
    if (!Take(empty->SpaceUsedLong() + kPointer)) return false;
    while (const uint32_t tag = input_.ReadTag()) {
      if (!HoldsField(type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag)), tag)) {
        return false;
      }
    }
    return input_.ConsumedEntireMessage();
  }

 private:
  bool HoldsField(const FieldDescriptor* field, uint32_t tag) {
    constexpr size_t kField = 16;  // a number, or an unknown field
    const auto kind = WireFormatLite::GetTagWireType(tag);
    if (kind == WireFormatLite::WIRETYPE_START_GROUP)
      return false;  // no version of a peer has them
    if (kind != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      return Take(kField) && WireFormatLite::SkipField(&input_, tag);
    }
    int size = 0;
    if (!input_.ReadVarintSizeAsInt(&size)) return false;
    const bool is_message =
        field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message) return Take(TextBytes(field, size)) && input_.Skip(size);
    const CodedInputStream::Limit limit = input_.PushLimit(size);
    if (!input_.IncrementRecursionDepth() || !Holds(*field->message_type())) return false;
    input_.DecrementRecursionDepth();
    input_.PopLimit(limit);
    return true;
  }

  // A varint of one byte takes 8 bytes, and 16 while its list grows.
  static size_t TextBytes(const FieldDescriptor* field, int size) {
    const bool is_list = field != nullptr && field->is_packable() && !IsFixedSize(field->type());
    constexpr size_t kText = 80;  // an unknown one; sizeof(std::string) of others
    return kText + static_cast<size_t>(size) * (is_list ? 16 : 1);
  }

  bool Take(size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  CodedInputStream input_;
  size_t left_;
};

}  // namespace

bool ParseMessage(absl::string_view bytes, size_t most_bytes, google::protobuf::Message& message) {
  const bool may_be_too_large = bytes.size() > most_bytes / kLargestGrowth;
  if (may_be_too_large && !MemoryBound(bytes, most_bytes).Holds(*message.GetDescriptor())) {
    return false;
  }
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace gpuscaler
