#include "signal/signal_watch.h"

#include <utility>

#include "base/open_files.h"
#include "signal/source_place.h"

namespace gpuscaler {
namespace {

bool IsAtAddresses(const SignalSource& source) {
  return !std::holds_alternative<DiscoveredEngines>(source.target);  // agents report those
}

EngineAddress AddressOf(const EngineTarget& target) {
  return {.address = IpAddressText(target.at.server.address), .port = target.at.server.port};
}

}  // namespace

SignalWatch::SignalWatch(const SignalWatchOptions& options, const Clock& clock, SignalStore& store)
    : clock_(clock),
      store_(store),
      rules_(options.locator.rules),
      engines_(
          clock, options.interval,
          [this](const EngineTarget& target, const EngineUpdate& update) {
            AddReading(target, update);
          },
          limits_),
      pages_(
          clock, {.interval = options.queue_interval, .max_gap = options.max_gap},
          [this](const SignalSource& source, const IpAddress& address,
                 const absl::StatusOr<CounterPoint>& number) {
            store_.AddSample(source, IpAddressText(address), number);
          },
          limits_),
      queues_(
          clock, rules_, WithinOpenFiles({.interval = options.queue_interval}, MostOpenFiles()),
          [this](const RedisReading& reading) { AddQueueLength(reading); },
          limits_.response_memory),
      locator_(std::make_unique<SourceLocator>(options.locator, [this] { Wake(); })),
      thread_("signals", options.interval, [this] { UpdateTargets(); }) {}

// The thread uses the locator and the locator wakes the thread, so the thread stops first.
SignalWatch::~SignalWatch() {
  thread_.Stop(absl::InfiniteDuration());
  locator_.reset();
}

void SignalWatch::UpdateTargets() {
  std::vector<LeasedSource> leased = store_.LeasedSources(clock_.Now());
  std::erase_if(leased, [](const LeasedSource& each) { return !IsAtAddresses(each.source); });
  std::vector<SignalSource> sources;
  for (const LeasedSource& each : leased) sources.push_back(each.source);
  locator_->SetSources(sources);

  Targets targets;
  for (const LeasedSource& each : leased) Add(each, targets);
  {
    MutexLock lock(mutex_);
    engine_sources_ = std::move(targets.engine_sources);
  }
  engines_.Poll(targets.engines);
  pages_.Poll(targets.pages);
  queues_.Replace(std::move(targets.queues));
  selectors_ = std::move(targets.selectors);
}

void SignalWatch::Add(const LeasedSource& leased, Targets& targets) {
  const SignalSource& source = leased.source;
  const absl::StatusOr<LocatedSource> located = locator_->Locate(source);
  if (!located.ok()) {
    Refuse(source, located.status());
  } else if (std::holds_alternative<EngineEndpoint>(source.target)) {
    AddEngines(leased, *located, targets);
  } else if (std::holds_alternative<MetricsEndpoint>(source.target)) {
    AddPages(source, *located, targets);
  } else {
    AddQueue(source, *located, targets);
  }
}

void SignalWatch::AddEngines(const LeasedSource& leased, const LocatedSource& located,
                             Targets& targets) {
  std::vector<EngineAddress> engines;
  for (const IpAddress& address : located.addresses) {
    const EngineTarget target{.at = located.RequestTo(address),
                              .engine = std::get<EngineEndpoint>(leased.source.target).engine};
    engines.push_back(AddressOf(target));
    EngineInterest& interest = targets.engines[target];
    interest.histograms = interest.histograms || leased.needs_histograms;
    if (interest.tenant.empty()) interest.tenant = leased.source.namespace_name;
    targets.engine_sources[target].push_back(leased.source);
  }
  store_.SetEngines(leased.source, engines, clock_.Now());
}

// Regular expressions are compiled once: compiling takes longer than the rest of a pass.
const MetricSelector* SignalWatch::SelectorOf(const std::string& text, Targets& targets) {
  const auto found = targets.selectors.find(text);
  if (found != targets.selectors.end()) return &found->second;
  auto known = selectors_.extract(text);
  if (!known.empty()) return &targets.selectors.insert(std::move(known)).position->second;
  auto parsed = ParseMetricSelector(text);
  if (!parsed.ok()) return nullptr;
  return &targets.selectors.emplace(text, *std::move(parsed)).first->second;
}

void SignalWatch::AddPages(const SignalSource& source, const LocatedSource& located,
                           Targets& targets) {
  const MetricSelector* const selector =
      SelectorOf(std::get<MetricsEndpoint>(source.target).selector, targets);
  if (selector == nullptr) return;  // unreachable: CheckSource() has accepted it
  std::vector<std::string> addresses;
  for (const IpAddress& address : located.addresses) addresses.push_back(IpAddressText(address));
  store_.SetEndpointAddresses(source, addresses);
  if (addresses.size() > kMaxPages) return;
  for (const IpAddress& address : located.addresses) {
    ScrapeRequest request = located.RequestTo(address);
    if (request.path.empty()) request.path = "/metrics";
    targets.pages[request].emplace(source, *selector);
  }
}

void SignalWatch::AddQueue(const SignalSource& source, const LocatedSource& located,
                           Targets& targets) {
  targets.queues.push_back({.source = source,
                            .server = {.place = located.ServerAt({}),
                                       .username = located.credentials.username,
                                       .password = located.credentials.password,
                                       .database = std::get<RedisQueue>(source.target).database},
                            .addresses = located.addresses});
}

void SignalWatch::Refuse(const SignalSource& source, const absl::Status& why) {
  if (std::holds_alternative<EngineEndpoint>(source.target)) {
    store_.SetEngines(source, why, clock_.Now());
  } else if (std::holds_alternative<MetricsEndpoint>(source.target)) {
    store_.SetEndpointAddresses(source, why);
  } else {
    store_.AddQueueLength(source, why);
  }
}

void SignalWatch::AddReading(const EngineTarget& target, const EngineUpdate& update) {
  std::vector<SignalSource> sources;
  {
    MutexLock lock(mutex_);
    if (const auto found = engine_sources_.find(target); found != engine_sources_.end()) {
      sources = found->second;
    }
  }
  for (const SignalSource& source : sources) store_.AddReading(source, AddressOf(target), update);
}

void SignalWatch::AddQueueLength(const RedisReading& reading) {
  if (reading.length.ok()) {
    store_.AddQueueLength(reading.source,
                          CounterPoint{.instant = {.at = reading.at}, .value = *reading.length},
                          reading.note);
  } else {
    store_.AddQueueLength(reading.source, reading.length.status());
  }
}

}  // namespace gpuscaler
