#include "signal/curl_library.h"

#include <curl/curl.h>
#include <dlfcn.h>

#include <cstdarg>
#include <string>

#include "absl/strings/str_cat.h"

#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

namespace gpuscaler {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";  // the ABI of curl/curl.h since 2006

// Null where there is no libcurl.
struct CurlCalls {
  std::string fault;  // empty: all are there
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_perform) easy_perform = nullptr;
  decltype(&::curl_easy_recv) easy_recv = nullptr;
  decltype(&::curl_easy_send) easy_send = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_perform) multi_perform = nullptr;
  decltype(&::curl_multi_poll) multi_poll = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&::curl_multi_setopt) multi_setopt = nullptr;
  decltype(&::curl_multi_socket_action) multi_socket_action = nullptr;
  decltype(&::curl_multi_wakeup) multi_wakeup = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
};

template <typename Function>
void Bind(void* library, const char* name, Function*& function, std::string& fault) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) fault = absl::StrCat(kLibrary, " has no ", name);
}

CurlCalls LoadCalls() {
  CurlCalls calls;
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    calls.fault = dlerror();
    return calls;
  }
  const auto bind = [&](const char* name, auto*& function) {
    Bind(library, name, function, calls.fault);
  };
  bind("curl_easy_cleanup", calls.easy_cleanup);
  bind("curl_easy_getinfo", calls.easy_getinfo);
  bind("curl_easy_init", calls.easy_init);
  bind("curl_easy_perform", calls.easy_perform);
  bind("curl_easy_recv", calls.easy_recv);
  bind("curl_easy_send", calls.easy_send);
  bind("curl_easy_setopt", calls.easy_setopt);
  bind("curl_easy_strerror", calls.easy_strerror);
  bind("curl_global_init", calls.global_init);
  bind("curl_multi_add_handle", calls.multi_add_handle);
  bind("curl_multi_cleanup", calls.multi_cleanup);
  bind("curl_multi_info_read", calls.multi_info_read);
  bind("curl_multi_init", calls.multi_init);
  bind("curl_multi_perform", calls.multi_perform);
  bind("curl_multi_poll", calls.multi_poll);
  bind("curl_multi_remove_handle", calls.multi_remove_handle);
  bind("curl_multi_setopt", calls.multi_setopt);
  bind("curl_multi_socket_action", calls.multi_socket_action);
  bind("curl_multi_wakeup", calls.multi_wakeup);
  bind("curl_slist_append", calls.slist_append);
  bind("curl_slist_free_all", calls.slist_free_all);
  if (calls.fault.empty() && calls.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    calls.fault = absl::StrCat(kLibrary, " cannot be initialised");
  }
  return calls.fault.empty() ? calls : CurlCalls{.fault = calls.fault};
}

const CurlCalls& Calls() {
  static const auto& calls = *new CurlCalls(LoadCalls());  // the library stays until the end
  return calls;
}

// What an option's value is passed as: a long, a pointer or a curl_off_t, which are alike here.
static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));
void* ValueOf(va_list values) { return va_arg(values, void*); }

}  // namespace

absl::Status LoadCurl() {
  const std::string& fault = Calls().fault;
  return fault.empty() ? absl::OkStatus() : absl::UnavailableError(fault);
}

}  // namespace gpuscaler

using gpuscaler::Calls;

// libcurl declares them so: an enum before the dots, which in C++ may be promoted to a wider
// integer. Ours and libcurl's are of an int's width.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wvarargs"
#endif

extern "C" {

CURL* curl_easy_init() { return Calls().easy_init == nullptr ? nullptr : Calls().easy_init(); }

void curl_easy_cleanup(CURL* handle) {
  if (handle != nullptr) Calls().easy_cleanup(handle);
}

CURLcode curl_easy_setopt(CURL* handle, CURLoption option, ...) {
  if (handle == nullptr) return CURLE_FAILED_INIT;
  va_list values;
  va_start(values, option);
  const CURLcode code = Calls().easy_setopt(handle, option, gpuscaler::ValueOf(values));
  va_end(values);
  return code;
}

CURLcode curl_easy_getinfo(CURL* handle, CURLINFO info, ...) {
  if (handle == nullptr) return CURLE_FAILED_INIT;
  va_list values;
  va_start(values, info);
  const CURLcode code = Calls().easy_getinfo(handle, info, gpuscaler::ValueOf(values));
  va_end(values);
  return code;
}

CURLcode curl_easy_perform(CURL* handle) {
  return handle == nullptr ? CURLE_FAILED_INIT : Calls().easy_perform(handle);
}

CURLcode curl_easy_send(CURL* handle, const void* bytes, size_t size, size_t* sent) {
  return handle == nullptr ? CURLE_FAILED_INIT : Calls().easy_send(handle, bytes, size, sent);
}

CURLcode curl_easy_recv(CURL* handle, void* bytes, size_t size, size_t* received) {
  return handle == nullptr ? CURLE_FAILED_INIT : Calls().easy_recv(handle, bytes, size, received);
}

const char* curl_easy_strerror(CURLcode code) {
  return Calls().easy_strerror == nullptr ? "no libcurl" : Calls().easy_strerror(code);
}

CURLcode curl_global_init(long flags) {
  return Calls().global_init == nullptr ? CURLE_FAILED_INIT : Calls().global_init(flags);
}

CURLM* curl_multi_init() { return Calls().multi_init == nullptr ? nullptr : Calls().multi_init(); }

CURLMcode curl_multi_cleanup(CURLM* multi) {
  return multi == nullptr ? CURLM_BAD_HANDLE : Calls().multi_cleanup(multi);
}

CURLMcode curl_multi_setopt(CURLM* multi, CURLMoption option, ...) {
  if (multi == nullptr) return CURLM_BAD_HANDLE;
  va_list values;
  va_start(values, option);
  const CURLMcode code = Calls().multi_setopt(multi, option, gpuscaler::ValueOf(values));
  va_end(values);
  return code;
}

CURLMcode curl_multi_add_handle(CURLM* multi, CURL* handle) {
  return multi == nullptr ? CURLM_BAD_HANDLE : Calls().multi_add_handle(multi, handle);
}

CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* handle) {
  return multi == nullptr ? CURLM_BAD_HANDLE : Calls().multi_remove_handle(multi, handle);
}

CURLMcode curl_multi_perform(CURLM* multi, int* running) {
  return multi == nullptr ? CURLM_BAD_HANDLE : Calls().multi_perform(multi, running);
}

CURLMcode curl_multi_poll(CURLM* multi, curl_waitfd fds[], unsigned count, int milliseconds,
                          int* ready) {
  return multi == nullptr ? CURLM_BAD_HANDLE
                          : Calls().multi_poll(multi, fds, count, milliseconds, ready);
}

CURLMcode curl_multi_wakeup(CURLM* multi) {
  return multi == nullptr ? CURLM_BAD_HANDLE : Calls().multi_wakeup(multi);
}

CURLMsg* curl_multi_info_read(CURLM* multi, int* left) {
  return multi == nullptr ? nullptr : Calls().multi_info_read(multi, left);
}

CURLMcode curl_multi_socket_action(CURLM* multi, curl_socket_t socket, int events, int* running) {
  return multi == nullptr ? CURLM_BAD_HANDLE
                          : Calls().multi_socket_action(multi, socket, events, running);
}

curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  return Calls().slist_append == nullptr ? nullptr : Calls().slist_append(list, text);
}

void curl_slist_free_all(curl_slist* list) {
  if (list != nullptr) Calls().slist_free_all(list);
}

}  // extern "C"
