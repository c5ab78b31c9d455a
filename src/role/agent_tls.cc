#include "role/agent_tls.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "role/reloader.h"
#include "wire/client_tls.h"

namespace gpuscaler {

absl::StatusOr<std::shared_ptr<SSL_CTX>> AgentTls::Context() {
  {
    MutexLock lock(mutex_);
    const absl::Time now = clock_.Now();
    if (context_ != nullptr && now - read_at_ < kReloadInterval) return context_;
    read_at_ = now;
  }
  auto pems = reader_.Read();
  MutexLock lock(mutex_);
  if (pems.ok() && context_ != nullptr && *pems == pems_) return context_;
  auto context = pems.ok() ? ClientTls(*pems) : pems.status();
  if (context.ok()) {
    pems_ = *std::move(pems);
    context_ = *context;
    return context_;
  }
  const bool has_earlier = context_ != nullptr;
  if (const std::optional<int64_t> dropped = unusable_log_.Pass()) {
    LogWarn("agent_tls_unusable",
            {{"why", context.status().message()},
             {"consequence", has_earlier ? "the last good files stay in use" : "no agent is read"},
             {"dropped", *dropped}});
  }
  if (has_earlier) return context_;
  return context;
}

}  // namespace gpuscaler
