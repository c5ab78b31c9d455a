#include <string>

#include "absl/strings/str_cat.h"
#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

TEST(Ollama, ListsLoadedModelsWithoutRequests) {
  constexpr absl::string_view kOne = R"({"models":[{"name":"qwen3:8b","model":"qwen3:8b",
    "size":4700000000,"size_vram":4600000000,"expires_at":"2026-01-01T00:05:00Z"}]})";
  const ModelReading reading = ReadOwnPage(Ollama(), kOne, "qwen3:8b");
  EXPECT_EQ(reading.waiting, std::nullopt) << "unknown, not 0";
  EXPECT_EQ(reading.running, std::nullopt);
  EXPECT_EQ(ReadingOf(*Ollama().read(kOne, {}), "llama3:8b"), std::nullopt);
  EXPECT_TRUE(Ollama().read("{\"models\":[]}", {})->models.empty());
}

TEST(Ollama, RefusesOtherJson) {
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
      {"{\"models\":[\"name\"]}", "a loaded model without \"name\""},
      {"{\"models\":[[\"a\"]]}", "a loaded model without \"name\""},
      {"{\"models\":[{\"name\":\"a\"},[\"name\",\"b\"]]}", "a loaded model without \"name\""},
      {"{\"models\":[{\"name\":\"a\"},{\"digest\":\"b\"}]}", "a loaded model without \"name\""},
      {"{\"models\":[{\"name\":{\"name\":\"a\"}}]}", "a loaded model without \"name\""},
      {"{\"more\":{\"models\":[{\"name\":\"a\"}]}}", "is not on the page"},
      {"[{\"models\":[{\"name\":\"a\"}]}]", "is not on the page"},
      {"{\"models\":[]} x", "not JSON, or cut off"},
      {"{\"models\":[],\"n\":1e999}", "not JSON, or cut off"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(Ollama().read(row.page, {}).status().message(), testing::HasSubstr(row.want))
        << row.page;
  }
}

TEST(Ollama, OtherFieldsAreSkipped) {
  const auto reading = Ollama().read(R"({"more":[[{"name":"x"}]],"models":[
    {"details":{"name":"inner","families":["a"]},"name":"b"},
    {"name":"a","size":1,"half":0.5,"less":-1,"none":null,"is":true,"list":["name","c"]}
  ],"name":"outer"})",
                                     {});
  ASSERT_TRUE(reading.ok()) << reading.status();
  EXPECT_EQ(reading->models,
            (std::vector<ModelReading>{ModelReading{.model = "b"}, ModelReading{.model = "a"}}));
}

// Every page that begins with "{" is parsed as Ollama's, even if no trigger names Ollama.
TEST(Ollama, OversizedJsonIsRefusedBeforeItTakesMemory) {
  constexpr size_t kMaxBytes = size_t{256} << 10;
  const std::string head = "{\"models\":[],\"more\":\"";
  const std::string filled =
      absl::StrCat(head, std::string(kMaxBytes - head.size() - 2, 'x'), "\"}");
  EXPECT_TRUE(Ollama().read(filled, {}).ok()) << Ollama().read(filled, {}).status();

  std::string many = "{\"models\":[{\"name\":\"a\"}";
  for (size_t i = 1; i < kMaxModels; ++i) absl::StrAppend(&many, ",{\"name\":\"a\"}");
  EXPECT_EQ(Ollama().read(absl::StrCat(many, "]}"), {})->models.size(), kMaxModels);

  const struct {
    const char* name;
    std::string page;
    const char* want;
  } rows[] = {
      {"large", filled + "\n", "JSON of more than 262144 bytes is not Ollama's"},
      {"deep lists", "{\"models\":" + std::string(200'000, '['), "more than 16 levels deep"},
      {"deep objects",
       [] {
         std::string deep;
         for (int i = 0; i < 40'000; ++i) deep += "{\"a\":";
         return deep;
       }(),
       "more than 16 levels deep"},
      {"many models", many + ",7]}", "more than 1000 models"},
  };
  for (const auto& row : rows) {
    for (const absl::Status& status : {Ollama().read(row.page, {}).status(),
                                       Recognise(row.page, ExpositionFormat::kText).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.name;
      EXPECT_THAT(status.message(), testing::HasSubstr(row.want)) << row.name;
    }
  }
}

TEST(Ollama, SixteenLevelsAreAllowed) {
  const auto nested = [](int lists) {
    return absl::StrCat("{\"models\":[],\"more\":", std::string(lists, '['),
                        std::string(lists, ']'), "}");
  };
  EXPECT_TRUE(Ollama().read(nested(15), {}).ok());
  EXPECT_FALSE(Ollama().read(nested(16), {}).ok());
}

}  // namespace
}  // namespace gpuscaler
