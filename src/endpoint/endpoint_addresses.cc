#include "endpoint/endpoint_addresses.h"

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
  std::string of_one_link;  // with a zone: no tenant's
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

class EndpointAddresses::Asking {
 public:
  Asking(EndpointRules rules, std::function<void()> changed, Options options)
      : rules_(std::move(rules)), options_(std::move(options)), changed_(std::move(changed)) {}

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      due_changed_.NotifyAll();
    }
    MutexLock lock(telling_);
    changed_ = nullptr;
  }

  void Want(const std::set<EndpointHost>& hosts) {
    MutexLock lock(mutex_);
    std::erase_if(hosts_, [&](const auto& known) { return !hosts.contains(known.first); });
    std::erase_if(due_, [&](const auto& due) { return !hosts.contains(due.second); });
    for (const EndpointHost& host : hosts) {
      const auto [added, is_new] = hosts_.try_emplace(host);
      if (is_new) Begin(host, added->second);
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
    while (std::optional<Question> question = Next()) {
      const auto resolved = options_.resolver(question->name);
      Answer answer = resolved.ok() ? Checked(*question, *resolved) : resolved.status();
      if (Take(question->host, resolved.ok(), std::move(answer))) Tell();
    }
  }

 private:
  struct Question {
    EndpointHost host;
    std::string name;
  };
  struct Known {
    std::string name;  // to resolve; empty: the rules forbid it
    Answer answer = NotYet("its name is not resolved yet");
    bool has_answered = false;
    int failures = 0;  // since it was answered for last
    absl::Time asked_at = absl::InfinitePast();
    absl::Time due = absl::InfiniteFuture();  // infinite: it is being asked for, or never will be
  };

  Answer Checked(const Question& question, const ResolvedName& resolved) const {
    ASSIGN_OR_RETURN(std::vector<IpAddress> addresses,
                     CheckedAddresses(rules_, resolved.addresses));
    RETURN_IF_ERROR(rules_.CheckAlias(question.name, question.host.namespace_name,
                                      resolved.canonical_name, addresses));
    return addresses;
  }

  void Begin(const EndpointHost& host, Known& known) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::StatusOr<std::string> name = rules_.NameToResolve(host.host, host.namespace_name);
    if (name.ok()) {
      known.name = *name;
      SetDue(host, known, clock_.Now());
    } else {
      known.answer = name.status();
    }
  }

  void SetDue(const EndpointHost& host, Known& known, absl::Time due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    due_.erase({known.due, host});
    known.due = due;
    if (due < absl::InfiniteFuture()) due_.insert({due, host});
  }

  // What is due, when it is; nothing: it is over.
  std::optional<Question> Next() {
    MutexLock lock(mutex_);
    while (!stopping_) {
      const auto next = FirstThatMayBeAsked();
      const absl::Duration wait =
          next == due_.end() ? absl::InfiniteDuration() : next->first - clock_.Now();
      if (wait > absl::ZeroDuration()) {
        due_changed_.WaitFor(mutex_, wait);
        continue;
      }
      const EndpointHost host = next->second;
      Known& known = hosts_[host];
      known.asked_at = clock_.Now();
      SetDue(host, known, absl::InfiniteFuture());
      ++asking_of_[host.namespace_name];
      return Question{.host = host, .name = known.name};
    }
    return std::nullopt;
  }

  // Of a namespace that does not have its share of threads already.
  std::set<std::pair<absl::Time, EndpointHost>>::const_iterator FirstThatMayBeAsked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto next = due_.begin();
    while (next != due_.end()) {
      const auto asking = asking_of_.find(next->second.namespace_name);
      if (asking == asking_of_.end() || asking->second < kAskingOfNamespace) break;
      ++next;
    }
    return next;
  }

  // Whether there is something new to say.
  bool Take(const EndpointHost& host, bool has_answered, Answer answer) {
    MutexLock lock(mutex_);
    const auto asking = asking_of_.find(host.namespace_name);
    if (--asking->second == 0) asking_of_.erase(asking);
    due_changed_.NotifyAll();
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return false;
    Known& known = found->second;
    known.failures = has_answered ? 0 : known.failures + 1;
    const absl::Duration pause =
        has_answered ? options_.interval : RetryPause(known.failures, options_.retry);
    // Names that failed together are not asked for together again.
    SetDue(host, known, clock_.Now() + pause * Jitter(0.8, 1.2));
    if (!has_answered && known.has_answered) return false;
    known.has_answered = has_answered;
    if (known.answer == answer) return false;
    known.answer = std::move(answer);
    return true;
  }

  void Tell() {
    MutexLock lock(telling_);
    if (changed_ != nullptr) changed_();
  }

  const EndpointRules rules_;
  const Options options_;
  const SteadyClock clock_;
  mutable Mutex mutex_;
  std::map<std::string, int> asking_of_ ABSL_GUARDED_BY(mutex_);  // by namespace
  CondVar due_changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<EndpointHost, Known> hosts_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Time, EndpointHost>> due_ ABSL_GUARDED_BY(mutex_);
  Mutex telling_;
  std::function<void()> changed_ ABSL_GUARDED_BY(telling_);
};

EndpointAddresses::EndpointAddresses(EndpointRules rules, std::function<void()> changed,
                                     Options options)
    : asking_(std::make_shared<Asking>(std::move(rules), std::move(changed), std::move(options))) {
  for (int i = 0; i < kAsking; ++i) {
    std::thread thread([asking = asking_] { asking->Run(); });
    pthread_setname_np(thread.native_handle(), "endpoints dns");
    thread.detach();
  }
}

EndpointAddresses::~EndpointAddresses() { asking_->Stop(); }

void EndpointAddresses::Want(const std::set<EndpointHost>& hosts) { asking_->Want(hosts); }

EndpointAddresses::Answer EndpointAddresses::Of(const EndpointHost& host) const {
  return asking_->Of(host);
}

absl::Duration EndpointAddresses::RetryPause(int failures, absl::Duration first) {
  constexpr absl::Duration kLongest = absl::Minutes(1);
  constexpr int kMostDoublings = 10;
  return std::min(kLongest, first * (1 << std::clamp(failures - 1, 0, kMostDoublings)));
}

}  // namespace gpuscaler
