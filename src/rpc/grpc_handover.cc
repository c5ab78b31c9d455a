// Tells ThreadSanitizer how gRPC hands things from thread to thread. Debian's libraries are not
// instrumented: that an operation completes only after it was started is invisible, and whatever
// its starter wrote would seem to race with who is called back. Part of TSan builds alone; the
// functions stand in front of gRPC's own. Compiled without instrumentation: what it does itself
// must not synchronise threads in TSan's eyes.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpcpp/support/server_callback.h>
#include <link.h>
#include <sanitizer/tsan_interface.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

// As in gRPC 1.51, src/core/lib/iomgr/closure.h and executor.h: what runs OnDone() and OnCancel().
struct grpc_closure {
  void* next;
  void (*callback)(void* argument, absl::Status error);
  void* argument;
};

namespace grpc_core {
enum class ExecutorType;
enum class ExecutorJobType;
class Executor {
 public:
  static void Run(grpc_closure* closure, absl::Status error, ExecutorType type,
                  ExecutorJobType job_type);
};
}  // namespace grpc_core

namespace {

// Functions that gRPC calls back, each with one of ours to be called in its place: that one first
// acquires what was released when the callback was arranged. `Subject` is the first argument.
template <typename Subject, typename Argument>
class StandIns {
 public:
  using Callback = void (*)(Subject*, Argument);

  // The function to call in place of `callback`; `callback` itself when it is one of ours, or when
  // there are too many.
  static Callback For(Callback callback) {
    for (const Callback simulated_engine : kStandIns) {
      if (callback == simulated_engine) return callback;
    }
    for (size_t i = 0; i < kMost; ++i) {
      Callback before = nullptr;
      if (callbacks[i].compare_exchange_strong(before, callback) || before == callback) {
        return kStandIns[i];
      }
    }
    return callback;
  }

 private:
  static constexpr size_t kMost = 64;

  template <size_t I>
  static void CallAfterRelease(Subject* subject, Argument argument) {
    __tsan_acquire(subject);
    callbacks[I].load()(subject, std::move(argument));
  }

  template <size_t... I>
  static constexpr std::array<Callback, kMost> All(std::index_sequence<I...>) {
    return {CallAfterRelease<I>...};
  }

  static inline std::array<std::atomic<Callback>, kMost> callbacks;
  static constexpr std::array<Callback, kMost> kStandIns = All(std::make_index_sequence<kMost>());
};

using TagStandIns = StandIns<grpc_completion_queue_functor, int>;
using ClosureStandIns = StandIns<void, absl::Status>;

bool IsCode(const void* address) {
  const auto holds = [](dl_phdr_info* object, size_t, void* data) {
    const auto sought = reinterpret_cast<uintptr_t>(data);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
      const bool code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
      if (code && sought >= begin && sought < begin + segment.p_memsz) return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(holds, const_cast<void*>(address)) == 1;
}

// A tag of the callback API begins with the function to call; one of the blocking API is an object
// with a vtable.
void WatchCallback(void* tag) {
  auto* functor = static_cast<grpc_completion_queue_functor*>(tag);
  if (IsCode(reinterpret_cast<const void*>(functor->functor_run))) {
    functor->functor_run = TagStandIns::For(functor->functor_run);
  }
}

template <typename Function>
Function* Real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t nops, void* tag,
                                      void* reserved) {
  static auto* const real = Real(grpc_call_start_batch, "grpc_call_start_batch");
  if (tag != nullptr) {
    WatchCallback(tag);
    __tsan_release(tag);
  }
  return real(call, ops, nops, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* cq, gpr_timespec deadline,
                                      void* reserved) {
  static auto* const real = Real(grpc_completion_queue_next, "grpc_completion_queue_next");
  const grpc_event event = real(cq, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* cq, void* tag, gpr_timespec deadline,
                                       void* reserved) {
  static auto* const real = Real(grpc_completion_queue_pluck, "grpc_completion_queue_pluck");
  const grpc_event event = real(cq, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(tag);
  return event;
}

}  // extern "C"

// The lock with which gRPC's headers guard what a reactor does before it is bound to its call.
void absl::Mutex::Lock() {
  static auto* const real =
      reinterpret_cast<void (*)(Mutex*)>(dlsym(RTLD_NEXT, "_ZN4absl7debian35Mutex4LockEv"));
  real(this);
  __tsan_acquire(this);
}

void absl::Mutex::Unlock() {
  static auto* const real =
      reinterpret_cast<void (*)(Mutex*)>(dlsym(RTLD_NEXT, "_ZN4absl7debian35Mutex6UnlockEv"));
  __tsan_release(this);
  real(this);
}

// OnDone() and OnCancel() come when the last of several threads has counted down. Some of them
// count inside the library, unseen.
void grpc::internal::ServerCallbackCall::ScheduleOnDone(bool inline_ondone) {
  static auto* const real = reinterpret_cast<void (*)(ServerCallbackCall*, bool)>(
      dlsym(RTLD_NEXT, "_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb"));
  __tsan_acquire(&callbacks_outstanding_);
  real(this, inline_ondone);
}

void grpc::internal::ServerCallbackCall::CallOnCancel(ServerReactor* reactor) {
  static auto* const real = reinterpret_cast<void (*)(ServerCallbackCall*, ServerReactor*)>(dlsym(
      RTLD_NEXT, "_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE"));
  __tsan_acquire(&on_cancel_conditions_remaining_);
  real(this, reactor);
}

void grpc_core::Executor::Run(grpc_closure* closure, absl::Status error, ExecutorType type,
                              ExecutorJobType job_type) {
  static auto* const real =
      Real(Executor::Run,
           "_ZN9grpc_core8Executor3RunEP12grpc_closureN4absl7debian36StatusENS_12ExecutorTypeENS_"
           "15ExecutorJobTypeE");
  if (closure->argument != nullptr) {
    closure->callback = ClosureStandIns::For(closure->callback);
    __tsan_release(closure->argument);
  }
  real(closure, std::move(error), type, job_type);
}
