#include "app/top_screen.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "app/test_web_documents.h"
#include "app/text_width.h"
#include "base/test_hostile_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr TopSize kSize = {.width = 120, .height = 20};

TopDocuments Documents() {
  TopDocuments documents;
  documents.status = WebDocument::parse(kTestStatus);
  documents.workloads = WebDocument::parse(kTestWorkloads);
  documents.fleet = WebDocument::parse(kTestFleet);
  return documents;
}

std::vector<std::string> LinesOf(const TopDocuments& documents, const TopState& state,
                                 const TopSize& size = kSize) {
  return TopLines(documents, state, size, {}, absl::UTCTimeZone());
}

std::string Screen(const TopDocuments& documents, const TopState& state,
                   const TopSize& size = kSize) {
  return absl::StrJoin(LinesOf(documents, state, size), "\n");
}

Key CharacterKey(char character) { return {.code = KeyCode::kCharacter, .character = character}; }

// Presses keys, each named by its code or its character.
void Press(const std::vector<Key>& keys, TopState& state,
           const TopDocuments& documents = Documents()) {
  for (const Key& key : keys) OnTopKey(key, documents, kSize, state);
}

// Returns the line of the screen that begins with the mark of the selected row.
std::string SelectedLine(const TopState& state) {
  for (const std::string& line : LinesOf(Documents(), state)) {
    if (absl::StartsWith(line, "> ")) return line;
  }
  return "";
}

TEST(TopLines, ShowWorkloadsInTheServersOrder) {
  const std::vector<std::string> lines = LinesOf(Documents(), {});
  ASSERT_EQ(lines.size(), kSize.height);
  EXPECT_THAT(lines[0], StartsWith("keda-gpu-scaler 0.1.0  aggregator agg-7f  up 1h33m20s  "
                                   "00:00:00"));
  EXPECT_THAT(lines[1], StartsWith("4 triggers, 1 in trouble; 2 nodes, 6 GPUs"));
  EXPECT_THAT(lines[2], StartsWith("[Workloads]  Fleet"));
  EXPECT_THAT(lines[3], AllOf(StartsWith("  WORKLOAD"), HasSubstr("DESIRED")));
  EXPECT_THAT(lines[4], AllOf(StartsWith("> shop/embed "), HasSubstr("no GPU snapshot yet")));
  EXPECT_THAT(lines[5], AllOf(StartsWith("  shop/llm "), HasSubstr(" 163.5 "), HasSubstr(" yes ")));
  EXPECT_THAT(lines[6], StartsWith("  zoo/batch s0-a ")) << "one of two triggers";
  EXPECT_THAT(lines.back(), StartsWith("q: quit   Tab: fleet"));
}

TEST(TopLines, CountOneNodeAndOneGpu) {
  TopDocuments documents = Documents();
  documents.status["fleet"]["nodes"] = 1;
  documents.status["fleet"]["gpus"] = 1;
  EXPECT_THAT(LinesOf(documents, {})[1],
              AllOf(HasSubstr("; 1 node, 1 GPU"), Not(HasSubstr("GPUs"))));
  documents.status["fleet"]["nodes"] = nullptr;
  EXPECT_THAT(LinesOf(documents, {})[1], HasSubstr("; - nodes, 1 GPU"));
}

TEST(TopLines, UnknownIsADashAndNotZero) {
  EXPECT_THAT(SelectedLine({}),
              AllOf(HasSubstr("> shop/embed "), HasSubstr(" gpu_utilization      -      80 ")));
}

TEST(TopLines, FillTheTerminalExactly) {
  for (const TopView view :
       {TopView::kWorkloads, TopView::kFleet, TopView::kExplanation, TopView::kNode}) {
    TopDocuments documents = Documents();
    documents.opened = WebDocument::parse(view == TopView::kNode ? kTestNode : kTestExplanation);
    TopState state;
    state.view = view;
    for (const size_t width : {1, 20, 79, 200}) {
      for (const size_t height : {1, 2, 4, 6, 50}) {
        const auto lines = LinesOf(documents, state, {.width = width, .height = height});
        EXPECT_EQ(lines.size(), height);
        for (const std::string& line : lines) {
          EXPECT_LE(TextWidth(line), width) << line;
        }
      }
    }
  }
}

TEST(TopLines, ASmallScreenShowsTheSelectedRow) {
  TopState state;
  Press({{.code = KeyCode::kEnd}}, state);
  EXPECT_THAT(Screen(Documents(), state, {.width = 80, .height = 6}),
              HasSubstr("> zoo/batch s1-b"));
}

TEST(TopLines, ShowTheFleet) {
  TopState state;
  Press({{.code = KeyCode::kTab}}, state);
  const auto lines = LinesOf(Documents(), state, {.width = 160, .height = 20});
  EXPECT_THAT(lines[2], HasSubstr("[Fleet]  6 GPUs: 1 busy; 1 held, at 0; 1 starting; 1 free; "
                                  "2 unreadable"));
  EXPECT_THAT(lines[3], AllOf(HasSubstr(" BUSY  AT 0  STARTING "), Not(HasSubstr("IDLE"))));
  EXPECT_THAT(lines[4], AllOf(StartsWith("> gpu-1 "), HasSubstr(" bhsf "), HasSubstr("█▁▅▁")));
  EXPECT_THAT(lines[5], AllOf(StartsWith("  gpu-2 "), HasSubstr("disconnected for 95s")));
}

TEST(TopLines, ShowTheGpusOfANode) {
  TopState state;
  Press({{.code = KeyCode::kTab}, {.code = KeyCode::kEnter}}, state);
  EXPECT_EQ(TopPath(state), "/api/v1/fleet/gpu-1");
  TopDocuments documents = Documents();
  SetTopDocument(state, WebDocument::parse(kTestNode), documents);
  const std::string screen = Screen(documents, state);
  EXPECT_THAT(screen, HasSubstr("Node  gpu-1"));
  EXPECT_THAT(screen, HasSubstr("shop/llm-0"));
  EXPECT_THAT(screen, HasSubstr(" 73728 "));
  EXPECT_THAT(screen, AllOf(HasSubstr(" busy "), HasSubstr(" held, at 0 ")));
  Press({{.code = KeyCode::kEscape}}, state);
  EXPECT_EQ(state.view, TopView::kFleet);
}

TEST(TopLines, ShowTheExplanationOfARow) {
  TopState state;
  Press({{.code = KeyCode::kDown}, {.code = KeyCode::kEnter}}, state);
  EXPECT_EQ(TopPath(state), "/api/v1/workloads/shop/llm/explanation?trigger=s0-llm");
  TopDocuments documents = Documents();
  EXPECT_THAT(Screen(documents, state), HasSubstr("Loading ..."));
  SetTopDocument(state, WebDocument::parse(kTestExplanation), documents);
  const std::string screen = Screen(documents, state);
  EXPECT_THAT(screen, HasSubstr("Why  shop/llm  s0-llm  at 00:00:00"));
  EXPECT_THAT(screen, HasSubstr("\nvalue: 163.5, the sum of 2 replicas"));
  EXPECT_THAT(screen, HasSubstr("\n  llm-1  83.5\n"));
  Press({{.code = KeyCode::kEscape}}, state);
  EXPECT_EQ(state.view, TopView::kWorkloads);
  EXPECT_THAT(SelectedLine(state), HasSubstr("shop/llm"));
}

TEST(TopLines, ALongExplanationScrollsToItsEnd) {
  TopDocuments documents = Documents();
  std::vector<std::string> text;
  for (int i = 0; i < 100; ++i) text.push_back(absl::StrCat("line ", i));
  documents.opened = {{"text", absl::StrJoin(text, "\n")}};
  TopState state;
  state.view = TopView::kExplanation;
  EXPECT_THAT(Screen(documents, state), HasSubstr("\nline 0\n"));
  Press({{.code = KeyCode::kEnd}}, state, documents);
  EXPECT_THAT(Screen(documents, state), HasSubstr("\nline 99\n"));
  Press({{.code = KeyCode::kUp}}, state, documents);
  EXPECT_THAT(Screen(documents, state), Not(HasSubstr("\nline 99\n")));
}

TEST(TopLines, AFaultKeepsTheLastRowsAndShowsTheirAge) {
  TopDocuments documents = Documents();
  documents.fault = "http://127.0.0.1:8082: Connection refused";
  documents.age = absl::Seconds(12.5);
  const std::vector<std::string> lines = LinesOf(documents, {});
  EXPECT_THAT(lines[1], StartsWith("no reply for 12s: http://127.0.0.1:8082: Connection refused"));
  EXPECT_THAT(lines[5], HasSubstr("shop/llm"));
}

TEST(TopLines, APartialFleetIsMarked) {
  TopDocuments documents = Documents();
  documents.status["fleet"]["partial"] = "1 of 3 agents is disconnected";
  EXPECT_THAT(LinesOf(documents, {})[1], StartsWith("partial: 1 of 3 agents is disconnected"));
}

TEST(TopLines, EmptyStatesAreSentences) {
  TopDocuments documents;
  EXPECT_THAT(Screen(documents, {}), HasSubstr("Loading ..."));
  documents.workloads = {{"workloads", WebDocument::array()}};
  EXPECT_THAT(Screen(documents, {}),
              HasSubstr("No ScaledObject requests values from this scaler."));
  TopState state;
  state.view = TopView::kFleet;
  documents.fleet = {{"nodes", WebDocument::array()}};
  EXPECT_THAT(Screen(documents, state), HasSubstr("No node with a GPU is known."));
}

TEST(TopLines, HostileNamesAreEscaped) {
  TopDocuments documents = Documents();
  documents.workloads["workloads"][1]["trouble"] = kHostileName;
  documents.status["instance"] = kHostileName;
  documents.fault = kHostileName;
  const std::string screen = Screen(documents, {}, {.width = 400, .height = 20});
  EXPECT_THAT(screen, Not(HasSubstr("\x1b")));
  EXPECT_THAT(screen, HasSubstr(kEscapedName));
}

TEST(TopLines, FieldsOfOtherTypesCountAsMissing) {
  TopDocuments documents;
  for (const char* text : {"{}", R"({"workloads":7,"nodes":"x","gpu":[],"fleet":null})",
                           R"({"workloads":[7,null,{}],"nodes":[7,{"gpus":1e300}]})"}) {
    documents.status = WebDocument::parse(text);
    documents.workloads = documents.status;
    documents.fleet = documents.status;
    documents.opened = documents.status;
    TopState state;
    for (const TopView view :
         {TopView::kWorkloads, TopView::kFleet, TopView::kExplanation, TopView::kNode}) {
      state.view = view;
      EXPECT_EQ(LinesOf(documents, state).size(), kSize.height) << text;
    }
    EXPECT_FALSE(TopPage(documents, 0, {}, absl::UTCTimeZone()).empty()) << text;
  }
}

TEST(TopLines, AnEmptyAggregatorNamesTheOtherOne) {
  TopDocuments documents = Documents();
  documents.workloads = WebDocument::parse(R"({"workloads":[]})");
  const auto page = [&] {
    return absl::StrJoin(TopPage(documents, 0, {}, absl::UTCTimeZone()), "\n");
  };
  for (const std::string& text : {Screen(documents, {}), page()}) {
    EXPECT_THAT(text, AllOf(HasSubstr("No ScaledObject requests values from this scaler."),
                            HasSubstr("kubectl port-forward pod/NAME 8082")));
  }
  documents.status["role"] = "standalone";
  EXPECT_THAT(page(), Not(HasSubstr("port-forward")));
}

TEST(TopLines, AsciiHasNoOtherCharacters) {
  TopState state;
  for (const TopView view : {TopView::kWorkloads, TopView::kFleet}) {
    state.view = view;
    for (const std::string& line : TopLines(Documents(), state, {.width = 60, .height = 20},
                                            {.ascii = true}, absl::UTCTimeZone())) {
      EXPECT_TRUE(std::ranges::all_of(line, absl::ascii_isprint)) << line;
    }
  }
}

TEST(OnTopKey, ArrowsSortAndReverse) {
  TopState state;
  const Key right = {.code = KeyCode::kRight};
  Press({right, right, right}, state);
  EXPECT_EQ(state.workloads.sorted, 2u);
  EXPECT_THAT(LinesOf(Documents(), state)[3], HasSubstr("VALUE▾"));
  EXPECT_THAT(LinesOf(Documents(), state)[4], HasSubstr("shop/llm"));
  Press({CharacterKey('r')}, state);
  EXPECT_THAT(LinesOf(Documents(), state)[4], HasSubstr("zoo/batch s1-b"));
  Press({{.code = KeyCode::kLeft}, {.code = KeyCode::kLeft}, {.code = KeyCode::kLeft}}, state);
  EXPECT_EQ(state.workloads.sorted, std::nullopt);
  EXPECT_THAT(LinesOf(Documents(), state)[4], HasSubstr("shop/embed"));
}

TEST(OnTopKey, TheSelectedRowStaysSelectedWhenTheOrderChanges) {
  TopState state;
  Press({{.code = KeyCode::kDown}}, state);
  EXPECT_THAT(SelectedLine(state), HasSubstr("shop/llm"));
  Press({{.code = KeyCode::kRight}, CharacterKey('r')}, state);
  EXPECT_THAT(SelectedLine(state), HasSubstr("shop/llm"));
}

TEST(OnTopKey, SlashFilters) {
  TopState state;
  Press({CharacterKey('/'), CharacterKey('q'), CharacterKey('u')}, state);
  EXPECT_FALSE(state.ended) << "q is a character of the filter";
  std::string screen = Screen(Documents(), state);
  EXPECT_THAT(screen, HasSubstr("filter: qu_"));
  EXPECT_THAT(screen, HasSubstr("zoo/batch"));
  EXPECT_THAT(screen, Not(HasSubstr("shop/")));
  Press({{.code = KeyCode::kBackspace}, CharacterKey('x'), {.code = KeyCode::kEnter}}, state);
  EXPECT_THAT(Screen(Documents(), state), HasSubstr("No row matches the filter."));
  Press({CharacterKey('/'), {.code = KeyCode::kEscape}}, state);
  EXPECT_THAT(Screen(Documents(), state), HasSubstr("shop/llm"));
}

TEST(OnTopKey, QEndsInEveryView) {
  for (const TopView view :
       {TopView::kWorkloads, TopView::kFleet, TopView::kExplanation, TopView::kNode}) {
    TopState state;
    state.view = view;
    Press({CharacterKey('q')}, state);
    EXPECT_TRUE(state.ended);
  }
}

TEST(TopPage, HasWorkloadsAndNodesWithoutColours) {
  const std::vector<std::string> lines = TopPage(Documents(), 0, {}, absl::UTCTimeZone());
  const std::string page = absl::StrJoin(lines, "\n");
  for (const char* text : {"shop/llm", "zoo/batch s1-b", "6 GPUs: 1 busy", "gpu-1", "gpu-2",
                           "disconnected for 95s", "no GPU snapshot yet"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(lines, Each(Not(HasSubstr("\x1b"))));
  EXPECT_THAT(lines, Each(Not(StartsWith("> "))));
}

}  // namespace
}  // namespace gpuscaler
