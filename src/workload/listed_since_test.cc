// Since when the kubelet lists a pod, whatever becomes of it and of the kubelet.
#include "gtest/gtest.h"
#include "workload/attributed_node.h"

namespace gpuscaler {
namespace {

// One that fails to become Ready, with the kubelet of a node on which others come and go.
class ListedSinceTest : public AttributedNode {
 protected:
  ListedSinceTest() { kubelet_.ServePodsApi(true); }

  static FakeKubelet::Pod Web(const std::string& uid) {
    return {.devices = {"shop", "web-0", {Gpu("GPU-sim-0")}},
            .of_api = {.uid = uid, .ready = false}};
  }
  static FakeKubelet::Pod Other(const std::string& name) {
    return {.devices = {"shop", name, {Gpu("GPU-sim-1")}}, .of_api = {.uid = name}};
  }

  // Empty: the pod on the first GPU is not known.
  std::optional<absl::Time> ListedSince() {
    const NodeSnapshot snapshot = Read();
    if (snapshot.gpus[0].holders.empty()) return std::nullopt;
    return snapshot.pods[static_cast<size_t>(snapshot.gpus[0].holders[0].pod)].listed_since;
  }
};

TEST_F(ListedSinceTest, IsWhenThePodWasFirstListedHoweverOftenItStartsAndOthersChange) {
  Ask();
  kubelet_.SetPods({Web(kUid0)});
  Ask();
  const absl::Time since = clock_.Now();
  for (int i = 0; i < 10; ++i) {
    processes_["GPU-sim-0"] =
        i % 2 == 0 ? std::vector<GpuProcess>{{.pid = 100 + i}} : std::vector<GpuProcess>{};
    kubelet_.SetPods({Other(absl::StrCat("job-", i)), Web(kUid0)});
    clock_.Advance(absl::Minutes(10));
    Ask();
    EXPECT_EQ(ListedSince(), since) << i;
  }
}

TEST_F(ListedSinceTest, IsRememberedWhileTheKubeletIsSilent) {
  kubelet_.SetPods({Web(kUid0)});
  Ask();
  const absl::Time since = clock_.Now();
  kubelet_.Stop();
  for (int i = 0; i < 20; ++i) Ask();
  EXPECT_EQ(ListedSince(), std::nullopt) << "nobody knows who holds it";
  kubelet_.Start();
  Ask();
  EXPECT_EQ(ListedSince(), since);
}

TEST_F(ListedSinceTest, OfAPodThatBeganInASilenceIsItsEnd) {
  kubelet_.SetPods({Other("job-0")});
  Ask();
  kubelet_.Stop();
  for (int i = 0; i < 20; ++i) Ask();
  kubelet_.SetPods({Other("job-0"), Web(kUid0)});
  kubelet_.Start();
  Ask();
  const absl::Time since = clock_.Now();
  EXPECT_EQ(ListedSince(), since);
  Ask();
  EXPECT_EQ(ListedSince(), since);
}

TEST_F(ListedSinceTest, IsWhenTheKubeletFirstKnewThePodAlsoForAnAgentThatBeginsAnew) {
  FakeKubelet::Pod web = Web(kUid0);
  web.of_api.known_since =
      absl::FromUnixSeconds(absl::ToUnixSeconds(clock_.Now())) - absl::Hours(1);
  kubelet_.SetPods({web});
  Ask();
  EXPECT_EQ(ListedSince(), web.of_api.known_since);
}

TEST_F(ListedSinceTest, APodThatWasReadyOnceStaysKnownForThat) {
  const auto was_ready = [this] { return Read().pods.at(0).was_ready; };
  FakeKubelet::Pod web = Web(kUid0);
  kubelet_.SetPods({web});
  Ask();
  EXPECT_FALSE(was_ready());
  web.of_api.ready = true;
  kubelet_.SetPods({web});
  Ask();
  EXPECT_TRUE(was_ready());
  web.of_api.ready = false;
  kubelet_.SetPods({web});
  Ask();
  EXPECT_TRUE(was_ready());
  kubelet_.SetPods({Web(kUid1)});
  Ask();
  EXPECT_FALSE(was_ready()) << "another one of that name";
}

TEST_F(ListedSinceTest, IsAnotherOfTheNextPodOfThatName) {
  kubelet_.SetPods({Web(kUid0)});
  Ask();
  kubelet_.SetPods({Web(kUid1)});
  Ask();
  EXPECT_EQ(ListedSince(), clock_.Now()) << "another UID";
  kubelet_.SetPods({Other("job-0")});
  Ask();
  kubelet_.SetPods({Other("job-0"), Web(kUid1)});
  Ask();
  EXPECT_EQ(ListedSince(), clock_.Now()) << "it was gone in between";
}

TEST_F(ListedSinceTest, StandsWhileThePodsApiIsAway) {
  kubelet_.SetPods({Web(kUid0)});
  Ask();
  const absl::Time since = clock_.Now();
  kubelet_.ServePodsApi(false);
  for (int i = 0; i < 20; ++i) Ask();
  EXPECT_EQ(Read().pods[0].uid, "");
  EXPECT_EQ(ListedSince(), since);
  kubelet_.ServePodsApi(true);
  Ask();
  EXPECT_EQ(Read().pods[0].uid, kUid0);
  EXPECT_EQ(ListedSince(), since);
  kubelet_.ServePodsApi(false);
  for (int i = 0; i < 20; ++i) Ask();
  kubelet_.SetPods({Web(kUid1)});
  kubelet_.ServePodsApi(true);
  Ask();
  EXPECT_EQ(ListedSince(), clock_.Now()) << "another one";
}

}  // namespace
}  // namespace gpuscaler
