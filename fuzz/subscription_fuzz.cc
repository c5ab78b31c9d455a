// Subscriptions that clients send to an agent's port. Any pod of the cluster may be one.
//
// An input has messages of Watch, a line "===", and messages of WatchEngines. A reader's name
// decides its address, one of four, and whether it has a certificate.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent_port.h"
#include "base/log.h"
#include "fleet/wire_text.h"
#include "fuzz_assert.h"
#include "message_mutator.h"
#include "name_hash.h"

namespace gpuscaler {

namespace wire = telemetry::v1;

namespace {

using Parts = std::pair<std::string, std::string>;

constexpr absl::string_view kSeparator = "===\n";
constexpr size_t kMost = kMaxNamespacesSubscribed;

Parts PartsOf(const uint8_t* data, size_t size) {
  return absl::StrSplit(absl::string_view(reinterpret_cast<const char*>(data), size),
                        absl::MaxSplits(kSeparator, 1));
}

uint32_t PeerOf(const std::string& reader) { return HashOf(reader) % 4; }
std::string AddressOf(uint32_t peer) { return absl::StrCat("10.0.0.", peer); }
bool HasCertificate(uint32_t peer) { return peer == 0; }

// More namespaces than the readers at one address may have.
EngineSubscription ManyNamespaces(uint32_t peer) {
  EngineSubscription many;
  for (size_t i = 0; i <= kMaxNamespacesSubscribed / 2; ++i) {
    many.namespaces[absl::StrCat("many-", peer, "-", i)];
  }
  return many;
}

class Clients {
 public:
  void Take(const wire::Subscription& wanted) {
    const uint32_t peer = PeerOf(wanted.reader());
    const bool is_taken = Send("Watch", peer, wanted);
    const std::vector<Pod> former = port_.TakeFormerPods();
    FUZZ_ASSERT(former.empty() || (is_taken && HasCertificate(peer)));
    for (const Pod& pod : former) CheckFormerPod(pod);
    if (!is_taken || wanted.lease_seconds() == 0) return;
    FUZZ_ASSERT(port_.leases()
                    .Subscription(port_.clock().Now())
                    .Covers({.pcie = wanted.pcie(), .activity = wanted.activity()}));
  }

  void Take(const wire::EngineSubscription& wanted) {
    const uint32_t peer = PeerOf(wanted.reader());
    port_.TakeIsMoreWanted();
    const bool is_taken = Send("WatchEngines", peer, wanted);
    const bool is_more = port_.TakeIsMoreWanted();
    FUZZ_ASSERT(is_taken || !is_more);
    if (HasCertificate(peer)) {
      promised_ += static_cast<size_t>(wanted.namespaces_size());
    } else {
      strangers_.insert(peer);
      if (absl::EndsWith(wanted.reader(), "*")) AddMany(peer);
    }
    if (is_more || port_.TakeIsMoreWanted() || HasCertificate(peer))
      CheckKept(peer, is_taken, wanted);
  }

  void Read() { port_.Read(); }

  // Ends all calls, and then all leases.
  void End() {
    port_.EndCalls();
    port_.clock().Advance(kLongestLease);
    FUZZ_ASSERT(port_.leases().Subscription(port_.clock().Now()) == CostlyReadings());
    port_.clock().Advance(absl::Seconds(1));  // leases for engines are rounded up
    FUZZ_ASSERT(port_.engines().Subscription().namespaces.empty());
  }

 private:
  template <typename Message>
  bool Send(const char* method, uint32_t peer, const Message& message) {
    return port_.Send(method, AddressOf(peer), HasCertificate(peer), message);
  }

  void CheckFormerPod(const Pod& pod) {
    FUZZ_ASSERT(!pod.namespace_name.empty() && pod.namespace_name.size() <= kLongestLabel);
    FUZZ_ASSERT(!pod.name.empty() && pod.name.size() <= kLongestObjectName);
    FUZZ_ASSERT(!HasControl(pod.namespace_name) && !HasControl(pod.name));
    FUZZ_ASSERT(pod.owners.size() <= 32);
    FUZZ_ASSERT(!pod.owner_listed_since || *pod.owner_listed_since <= port_.clock().Now());
  }

  void CheckKept(uint32_t peer, bool is_taken, const wire::EngineSubscription& wanted) {
    const auto kept = port_.engines().Subscription().namespaces;
    FUZZ_ASSERT(kept.size() <= MostOfStrangers() + std::min(promised_, 2 * kMost));
    FUZZ_ASSERT(kept.size() <= 2 * kMost);
    for (const auto& of : wanted.namespaces()) {
      const bool is_valid = of.name().size() <= kLongestLabel && !HasControl(of.name());
      FUZZ_ASSERT(is_valid || !is_taken);
      const bool is_promised = HasCertificate(peer) && is_taken && wanted.lease_seconds() > 0;
      FUZZ_ASSERT(!is_promised || promised_ > kMost || kept.contains(of.name()));
    }
  }

  // Another reader at the same address, for two addresses at most: 2,000 names take milliseconds.
  void AddMany(uint32_t peer) {
    if (with_many_.size() == 2 || !with_many_.insert(peer).second) return;
    static const auto& many = *new std::vector<EngineSubscription>{
        ManyNamespaces(0), ManyNamespaces(1), ManyNamespaces(2), ManyNamespaces(3)};
    port_.engines().Subscribe(many[peer], port_.clock().Now() + absl::Seconds(10), AddressOf(peer));
    strangers_.insert(peer);
  }

  // Each address may have half of what the others leave.
  size_t MostOfStrangers() const { return kMost - (kMost >> strangers_.size()); }

  AgentPort port_;
  std::set<uint32_t> strangers_;
  std::set<uint32_t> with_many_;
  size_t promised_ = 0;  // namespaces in all messages of readers with a certificate
};

template <typename Message>
void MutatePart(std::string& part, size_t most, unsigned seed) {
  const size_t size = part.size();
  part.resize(most);
  part.resize(MutateMessages<Message>(reinterpret_cast<uint8_t*>(part.data()), size, most, seed));
}

}  // namespace
}  // namespace gpuscaler

// New readers are logged.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  gpuscaler::SetLogLevel(gpuscaler::LogLevel::kError);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  auto [watch, engines] = gpuscaler::PartsOf(data, size);
  const size_t kept = (seed % 2 == 0 ? engines : watch).size() + gpuscaler::kSeparator.size();
  if (kept >= max_size) return LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 == 0) {
    gpuscaler::MutatePart<gpuscaler::wire::Subscription>(watch, max_size - kept, seed);
  } else {
    gpuscaler::MutatePart<gpuscaler::wire::EngineSubscription>(engines, max_size - kept, seed);
  }
  const std::string text = absl::StrCat(watch, gpuscaler::kSeparator, engines);
  std::ranges::copy(text, data);
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [watch, engines] = gpuscaler::PartsOf(data, size);
  gpuscaler::Clients clients;
  for (const auto& wanted : gpuscaler::MessagesIn<gpuscaler::wire::Subscription>(watch)) {
    clients.Read();
    clients.Take(wanted);
  }
  for (const auto& wanted : gpuscaler::MessagesIn<gpuscaler::wire::EngineSubscription>(engines)) {
    clients.Read();
    clients.Take(wanted);
  }
  clients.End();
  return 0;
}
