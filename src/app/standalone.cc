#include "app/standalone.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "app/allowed_namespaces.h"
#include "app/freed_memory.h"
#include "app/neighbours.h"
#include "app/open_attribution.h"
#include "app/reloader.h"
#include "app/sampler.h"
#include "app/side_ports.h"
#include "base/log.h"
#include "base/periodic_thread.h"
#include "base/status_macros.h"
#include "base/stop_all.h"
#include "gpu/gpu_source.h"
#include "scaling/trigger.h"
#include "serve/fleet_metrics.h"
#include "serve/grpc_server.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/probes.h"
#include "serve/profile_store.h"
#include "serve/scaler_service.h"
#include "store/leases.h"
#include "store/snapshot_store.h"

namespace gpuscaler {
namespace {

// Slow to act on, and each asks the cluster's DNS.
constexpr absl::Duration kNeighboursInterval = absl::Minutes(1);

}  // namespace

// In dependency order: destroyed backwards.
class Standalone::Impl {
 public:
  Impl(const Config& config, const Clock& clock, std::unique_ptr<GpuSource> source,
       AllowedNamespaces allowed)
      : config_(config),
        clock_(clock),
        source_(std::move(source)),
        store_(clock, config.StaleAfter(), kLongestWindow + config.StaleAfter()),
        profiles_(config.profiles),
        attribution_(OpenAttribution(config, clock)),
        sampler_(clock, *source_, leases_, store_, metrics_, attribution_.get(),
                 [this] { WakeKubelet(); }),
        probes_(clock, config.hang_after),
        service_({.stale_after = config.StaleAfter(),
                  .allowed_namespaces = std::move(allowed),
                  .max_streams_per_peer = config.max_streams_per_peer},
                 clock, store_, leases_, profiles_, metrics_, [this] { WakeSampler(); }) {}

  ~Impl() { Drain(absl::ZeroDuration()); }

  absl::Status Start() {
    RETURN_IF_ERROR(profiles_.Reload());
    RETURN_IF_ERROR(OpenGrpcPort());
    ASSIGN_OR_RETURN(metrics_page_, OpenMetricsPort(config_, [this] { return MetricsPage(); }));
    ASSIGN_OR_RETURN(probe_page_, OpenProbePort(config_, probes_));
    if (attribution_ != nullptr) {
      asking_ = std::make_unique<PeriodicThread>("kubelet", kKubeletInterval, [this] {
        if (attribution_->Ask()) WakeSampler();
      });
      waking_kubelet_ = asking_.get();
    }
    sampling_ =
        std::make_unique<PeriodicThread>("sampler", config_.poll_interval, [this] { Sample(); });
    waking_ = sampling_.get();
    reloading_ = std::make_unique<PeriodicThread>(
        "reloader", kReloadInterval,
        [this, reloader = std::make_shared<Reloader>(Files(), metrics_)] {
          reloader->Tick();
          freed_memory_.Tick(static_cast<int>(service_.open_streams()));
        });
    if (!config_.service.empty()) {
      neighbours_ = std::make_unique<PeriodicThread>(
          "neighbours", kNeighboursInterval,
          [neighbours = std::make_shared<Neighbours>(config_.service)] { neighbours->Tick(); });
    }
    probes_.SetServing(true);
    return absl::OkStatus();
  }

  int grpc_port() const { return grpc_->port(); }
  int metrics_port() const { return metrics_page_ == nullptr ? 0 : metrics_page_->port(); }
  int probe_port() const { return probe_page_ == nullptr ? 0 : probe_page_->port(); }

  std::vector<std::string> Drain(absl::Duration patience) {
    if (drained_.exchange(true)) return {};
    const SteadyClock real;
    const absl::Time deadline = real.Now() + patience;
    const auto left = [&] { return std::max(deadline - real.Now(), absl::ZeroDuration()); };
    probes_.SetServing(false);
    service_.StopStreams();
    store_.Close();
    if (grpc_ != nullptr) grpc_->Drain(left());
    waking_ = nullptr;
    waking_kubelet_ = nullptr;
    return StopAll({{sampling_.get(), "sampler"},
                    {reloading_.get(), "reloader"},
                    {neighbours_.get(), "neighbours"},
                    {asking_.get(), "kubelet"}},
                   left());
  }

 private:
  void Sample() {
    const absl::Status read = sampler_.Tick();
    probes_.Ticked();
    grpc_->SetScalerServing(read.ok());
  }

  void WakeSampler() {
    if (PeriodicThread* const sampling = waking_) sampling->Wake();
  }

  void WakeKubelet() {
    if (PeriodicThread* const asking = waking_kubelet_) asking->Wake();
  }

  absl::Status OpenGrpcPort() {
    ASSIGN_OR_RETURN(grpc_, GrpcServer::Start({.bind_address = config_.bind_address,
                                               .port = AskedPort(config_.port),
                                               .tls = config_.Tls(),
                                               .max_connection_age = config_.max_connection_age},
                                              service_.Services()));
    return absl::OkStatus();
  }

  std::string MetricsPage() const {
    const SnapshotStore::History newest = store_.Newest();
    return absl::StrCat(metrics_.Page(newest == nullptr ? nullptr : &newest->Newest(), clock_.Now(),
                                      config_.StaleAfter()),
                        HandshakeMetrics());
  }

  std::vector<Reloadable> Files() {
    std::vector<Reloadable> files = Certificates(config_, *grpc_, metrics_page_.get());
    if (profiles_.HasFile()) {
      files.push_back({Reload::kProfiles, [this] { return profiles_.Reload(); }});
    }
    return files;
  }

  const Config config_;
  const Clock& clock_;
  const std::unique_ptr<GpuSource> source_;
  Metrics metrics_;
  SnapshotStore store_;
  Leases leases_;
  ProfileStore profiles_;
  const std::unique_ptr<KubeletAttribution> attribution_;  // null: GPUs have no owners
  Sampler sampler_;
  Probes probes_;
  std::atomic<bool> drained_ = false;
  std::atomic<PeriodicThread*> waking_ = nullptr;  // null: no sampler to wake
  std::atomic<PeriodicThread*> waking_kubelet_ = nullptr;
  ScalerService service_;
  FreedMemory freed_memory_;  // the reloader's, which may take its time
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpServer> metrics_page_;
  std::unique_ptr<HttpServer> probe_page_;
  std::unique_ptr<PeriodicThread> asking_;  // null: no kubelet to ask
  std::unique_ptr<PeriodicThread> sampling_;
  std::unique_ptr<PeriodicThread> reloading_;
  std::unique_ptr<PeriodicThread> neighbours_;  // null: no service to watch
};

absl::StatusOr<std::unique_ptr<Standalone>> Standalone::Start(const Config& config,
                                                              const Clock& clock) {
  ASSIGN_OR_RETURN(AllowedNamespaces allowed, ParseAllowedNamespaces(config.allow_namespaces));
  ASSIGN_OR_RETURN(std::unique_ptr<GpuSource> source,
                   OpenGpuSource(config.gpu_source, config.node_name, clock));
  auto impl = std::make_unique<Impl>(config, clock, std::move(source), std::move(allowed));
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Standalone>(new Standalone(std::move(impl)));
}

Standalone::Standalone(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Standalone::~Standalone() = default;
int Standalone::grpc_port() const { return impl_->grpc_port(); }
int Standalone::metrics_port() const { return impl_->metrics_port(); }
int Standalone::probe_port() const { return impl_->probe_port(); }
std::vector<std::string> Standalone::Drain(absl::Duration patience) {
  return impl_->Drain(patience);
}

}  // namespace gpuscaler
