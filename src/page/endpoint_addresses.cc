#include "page/endpoint_addresses.h"

#include <pthread.h>

#include <algorithm>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/jitter.h"
#include "base/mutex.h"
#include "base/not_yet.h"
#include "base/status_macros.h"

namespace gpuscaler {

absl::StatusOr<std::vector<IpAddress>> CheckedAddresses(const EndpointRules& rules,
                                                        const std::vector<std::string>& addresses) {
  std::vector<IpAddress> evaluated;
  std::string of_one_link;  // has a zone, so it is not a tenant's
  for (const std::string& text : addresses) {
    const std::optional<IpAddress> address = ParseIpAddress(text);
    if (address.has_value()) evaluated.push_back(*address);
    if (!address.has_value()) of_one_link = text;
  }
  std::ranges::sort(evaluated);
  evaluated.erase(std::unique(evaluated.begin(), evaluated.end()), evaluated.end());
  const bool has_ipv4 = std::ranges::any_of(evaluated, IsIpv4);
  if (has_ipv4) std::erase_if(evaluated, std::not_fn(IsIpv4));
  for (const IpAddress& address : evaluated) RETURN_IF_ERROR(rules.CheckAddress(address));
  if (has_ipv4 || of_one_link.empty()) return evaluated;
  return absl::PermissionDeniedError(
      absl::StrCat("address ", of_one_link, " is of one link alone"));
}

class EndpointAddresses::Lookups {
 public:
  Lookups(EndpointRules rules, std::function<void()> changed, Options options)
      : rules_(std::move(rules)), options_(std::move(options)), changed_(std::move(changed)) {}

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      due_changed_.NotifyAll();
    }
    MutexLock lock(callback_mutex_);
    changed_ = nullptr;
  }

  void SetHosts(const std::set<EndpointHost>& hosts) {
    MutexLock lock(mutex_);
    std::erase_if(hosts_, [&](const auto& known) { return !hosts.contains(known.first); });
    std::erase_if(due_, [&](const auto& due) { return !hosts.contains(due.second); });
    for (const EndpointHost& host : hosts) {
      const auto [added, is_new] = hosts_.try_emplace(host);
      if (is_new) Add(host, added->second);
    }
    due_changed_.NotifyAll();
  }

  Answer Of(const EndpointHost& host) const {
    MutexLock lock(mutex_);
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return absl::UnavailableError("its name is not resolved");
    return found->second.answer;
  }

  void Run() {
    while (std::optional<Lookup> lookup = Next()) {
      const auto resolved = options_.resolver(lookup->name);
      Answer answer = resolved.ok() ? Checked(*lookup, *resolved) : resolved.status();
      if (Take(lookup->host, resolved.ok(), std::move(answer))) Notify();
    }
  }

 private:
  struct Lookup {
    EndpointHost host;
    std::string name;
  };
  struct HostState {
    std::string name;  // to resolve; empty: forbidden by the rules
    Answer answer = NotYet("its name is not resolved yet");
    bool has_answered = false;
    int failures = 0;                         // since the last answer
    absl::Time due = absl::InfiniteFuture();  // infinite: being resolved, or forbidden
  };

  Answer Checked(const Lookup& lookup, const ResolvedName& resolved) const {
    ASSIGN_OR_RETURN(std::vector<IpAddress> addresses,
                     CheckedAddresses(rules_, resolved.addresses));
    RETURN_IF_ERROR(rules_.CheckAlias(lookup.name, lookup.host.namespace_name,
                                      resolved.canonical_name, addresses));
    return addresses;
  }

  void Add(const EndpointHost& host, HostState& known) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::StatusOr<std::string> name = rules_.NameToResolve(host.host, host.namespace_name);
    if (name.ok()) {
      known.name = *name;
      SetDue(host, known, clock_.Now());
    } else {
      known.answer = name.status();
    }
  }

  void SetDue(const EndpointHost& host, HostState& known, absl::Time due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    due_.erase({known.due, host});
    known.due = due;
    if (due < absl::InfiniteFuture()) due_.insert({due, host});
  }

  // Waits for the next name that is due; returns nothing at shutdown.
  std::optional<Lookup> Next() {
    MutexLock lock(mutex_);
    while (!stopping_) {
      const auto next = FirstAllowed();
      const absl::Duration wait =
          next == due_.end() ? absl::InfiniteDuration() : next->first - clock_.Now();
      if (wait > absl::ZeroDuration()) {
        due_changed_.WaitFor(mutex_, wait);
        continue;
      }
      const EndpointHost host = next->second;
      HostState& known = hosts_[host];
      SetDue(host, known, absl::InfiniteFuture());
      ++in_progress_[host.namespace_name];
      return Lookup{.host = host, .name = known.name};
    }
    return std::nullopt;
  }

  // Skips namespaces that use their share of threads.
  std::set<std::pair<absl::Time, EndpointHost>>::const_iterator FirstAllowed() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto next = due_.begin();
    while (next != due_.end()) {
      const auto in_progress = in_progress_.find(next->second.namespace_name);
      if (in_progress == in_progress_.end() || in_progress->second < kLookupsOfNamespace) break;
      ++next;
    }
    return next;
  }

  // Returns true if the result of Of() has changed.
  bool Take(const EndpointHost& host, bool has_answered, Answer answer) {
    MutexLock lock(mutex_);
    const auto in_progress = in_progress_.find(host.namespace_name);
    if (--in_progress->second == 0) in_progress_.erase(in_progress);
    due_changed_.NotifyAll();
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return false;
    HostState& known = found->second;
    known.failures = has_answered ? 0 : known.failures + 1;
    const absl::Duration pause =
        has_answered ? options_.interval : RetryPause(known.failures, options_.retry);
    // Jitter: names that failed together are not retried together.
    SetDue(host, known, clock_.Now() + pause * Jitter(0.8, 1.2));
    if (!has_answered && known.has_answered) return false;
    known.has_answered = has_answered;
    if (known.answer == answer) return false;
    known.answer = std::move(answer);
    return true;
  }

  void Notify() {
    MutexLock lock(callback_mutex_);
    if (changed_ != nullptr) changed_();
  }

  const EndpointRules rules_;
  const Options options_;
  const SteadyClock clock_;
  mutable Mutex mutex_;
  std::map<std::string, int> in_progress_ ABSL_GUARDED_BY(mutex_);  // key: namespace
  CondVar due_changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<EndpointHost, HostState> hosts_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Time, EndpointHost>> due_ ABSL_GUARDED_BY(mutex_);
  Mutex callback_mutex_;
  std::function<void()> changed_ ABSL_GUARDED_BY(callback_mutex_);
};

EndpointAddresses::EndpointAddresses(EndpointRules rules, std::function<void()> changed,
                                     Options options)
    : lookups_(
          std::make_shared<Lookups>(std::move(rules), std::move(changed), std::move(options))) {
  for (int i = 0; i < kLookups; ++i) {
    std::thread thread([lookups = lookups_] { lookups->Run(); });
    pthread_setname_np(thread.native_handle(), "endpoints dns");
    thread.detach();
  }
}

EndpointAddresses::~EndpointAddresses() { lookups_->Stop(); }

void EndpointAddresses::SetHosts(const std::set<EndpointHost>& hosts) { lookups_->SetHosts(hosts); }

EndpointAddresses::Answer EndpointAddresses::Of(const EndpointHost& host) const {
  return lookups_->Of(host);
}

absl::Duration EndpointAddresses::RetryPause(int failures, absl::Duration first) {
  constexpr absl::Duration kLongest = absl::Minutes(1);
  constexpr int kMaxDoublings = 10;
  return std::min(kLongest, first * (1 << std::clamp(failures - 1, 0, kMaxDoublings)));
}

}  // namespace gpuscaler
