#include "signal/test_engine_page.h"

namespace gpuscaler {
namespace {

TEST(Ollama, TellsWhichModelsAreLoadedAndNothingOfRequests) {
  constexpr absl::string_view kOne = R"({"models":[{"name":"qwen3:8b","model":"qwen3:8b",
    "size":4700000000,"size_vram":4600000000,"expires_at":"2026-01-01T00:05:00Z"}]})";
  const ModelReading reading = ReadOwnPage(Ollama(), kOne, "qwen3:8b");
  EXPECT_EQ(reading.waiting, std::nullopt) << "unknown, not 0";
  EXPECT_EQ(reading.running, std::nullopt);
  EXPECT_EQ(ReadingOf(*Ollama().read(kOne, {}), "llama3:8b"), std::nullopt);
  EXPECT_TRUE(Ollama().read("{\"models\":[]}", {})->models.empty());
}

TEST(Ollama, RefusesWhatIsNotItsList) {
  const struct {
    const char* page;
    const char* want;
  } rows[] = {
      {"{\"models\":[{\"name\":\"a\"}", "not JSON, or cut off"},
      {"[]", "\"models\", Ollama's list of loaded models, is not on the page"},
      {"{\"error\":\"x\"}", "is not on the page"},
      {"{\"models\":{}}", "is not on the page"},
      {"{\"models\":[{\"name\":1}]}", "a loaded model without \"name\""},
      {"{\"models\":[7]}", "a loaded model without \"name\""},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(Ollama().read(row.page, {}).status().message(), testing::HasSubstr(row.want))
        << row.page;
  }
}

}  // namespace
}  // namespace gpuscaler
