#include "wire/parse_message.h"

#include <google/protobuf/descriptor.pb.h>

#include <string>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using google::protobuf::FileDescriptorProto;

constexpr size_t kMost = size_t{1} << 20;

std::string FileWith(int messages, const std::string& name) {
  FileDescriptorProto file;
  for (int i = 0; i < messages; ++i) file.add_message_type()->set_name(name);
  return file.SerializeAsString();
}

TEST(ParseMessage, ParsesLargeMessages) {
  FileDescriptorProto file;
  EXPECT_TRUE(ParseMessage(FileWith(100, std::string(9'000, 'x')), kMost, file));
  EXPECT_EQ(file.message_type_size(), 100);
  EXPECT_EQ(file.message_type(99).name().size(), 9'000u);
}

TEST(ParseMessage, RefusesManyEmptyMessages) {
  const std::string bytes = FileWith(20'000, "");
  ASSERT_LT(bytes.size(), kMost / 10);
  FileDescriptorProto file;
  EXPECT_FALSE(ParseMessage(bytes, kMost, file));
  EXPECT_EQ(file.message_type_size(), 0);
  EXPECT_TRUE(ParseMessage(bytes, 100 * kMost, file));
  EXPECT_GT(file.SpaceUsedLong(), kMost);
}

TEST(ParseMessage, RefusesManyEmptyTexts) {
  FileDescriptorProto file;
  for (int i = 0; i < 50'000; ++i) file.add_dependency();
  FileDescriptorProto parsed;
  EXPECT_FALSE(ParseMessage(file.SerializeAsString(), kMost, parsed));
}

TEST(ParseMessage, RefusesManyNumbers) {
  FileDescriptorProto file;
  auto& path = *file.mutable_source_code_info()->add_location()->mutable_path();
  for (int i = 0; i < 200'000; ++i) path.Add(1);
  FileDescriptorProto parsed;
  EXPECT_FALSE(ParseMessage(file.SerializeAsString(), kMost, parsed));
}

TEST(ParseMessage, RefusesBytesThatAreNoMessage) {
  const std::string bytes = FileWith(100, std::string(100, 'x'));
  FileDescriptorProto file;
  EXPECT_FALSE(ParseMessage(bytes.substr(0, bytes.size() - 1), kMost, file));
  EXPECT_FALSE(ParseMessage(bytes + '\x0c', kMost, file)) << "ends a group that did not begin";
  EXPECT_FALSE(ParseMessage("\x0a", kMost, file)) << "a small one";
}

TEST(ParseMessage, RefusesGroups) {
  std::string groups = "\x0b";
  for (int i = 0; i < 10'000; ++i) groups += "\x0b\x0c";
  FileDescriptorProto file;
  EXPECT_FALSE(ParseMessage(groups + "\x0c", kMost, file));
}

TEST(ParseMessage, UnknownFieldsPass) {
  FileDescriptorProto newer;
  newer.mutable_unknown_fields()->AddLengthDelimited(900, std::string(9'000, 'x'));
  newer.mutable_unknown_fields()->AddVarint(901, 1);
  FileDescriptorProto file;
  EXPECT_TRUE(ParseMessage(newer.SerializeAsString(), kMost, file));
}

}  // namespace
}  // namespace gpuscaler
