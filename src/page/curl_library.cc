#include "page/curl_library.h"

#include <dlfcn.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";  // the ABI of curl/curl.h since 2006

struct Library {
  std::string fault;  // empty: all functions were found
  CurlFunctions functions;
};

template <typename Function>
void Bind(void* library, const char* name, Function*& function, std::string& fault) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) fault = absl::StrCat(kLibrary, " has no ", name);
}

void BindAll(void* library, CurlFunctions& curl, std::string& fault) {
  const auto bind = [&](const char* name, auto*& function) {
    Bind(library, name, function, fault);
  };
  bind("curl_easy_cleanup", curl.easy_cleanup);
  bind("curl_easy_getinfo", curl.easy_getinfo);
  bind("curl_easy_init", curl.easy_init);
  bind("curl_easy_perform", curl.easy_perform);
  bind("curl_easy_recv", curl.easy_recv);
  bind("curl_easy_send", curl.easy_send);
  bind("curl_easy_setopt", curl.easy_setopt);
  bind("curl_easy_strerror", curl.easy_strerror);
  bind("curl_global_init", curl.global_init);
  bind("curl_multi_add_handle", curl.multi_add_handle);
  bind("curl_multi_cleanup", curl.multi_cleanup);
  bind("curl_multi_info_read", curl.multi_info_read);
  bind("curl_multi_init", curl.multi_init);
  bind("curl_multi_perform", curl.multi_perform);
  bind("curl_multi_poll", curl.multi_poll);
  bind("curl_multi_remove_handle", curl.multi_remove_handle);
  bind("curl_multi_setopt", curl.multi_setopt);
  bind("curl_multi_socket_action", curl.multi_socket_action);
  bind("curl_multi_wakeup", curl.multi_wakeup);
  bind("curl_slist_append", curl.slist_append);
  bind("curl_slist_free_all", curl.slist_free_all);
  const auto bind_if_any = [&](const char* name, auto*& function) {
    std::string ignored;
    Bind(library, name, function, ignored);
  };
  bind_if_any("BIO_new", curl.bio_new);
  bind_if_any("BIO_s_null", curl.bio_s_null);
  bind_if_any("SSL_CTX_ctrl", curl.ssl_ctx_ctrl);
  bind_if_any("SSL_CTX_set_msg_callback", curl.ssl_ctx_set_msg_callback);
  bind_if_any("SSL_in_init", curl.ssl_in_init);
  bind_if_any("SSL_set0_rbio", curl.ssl_set0_rbio);
}

Library Load() {
  Library loaded;
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.fault = dlerror();
    return loaded;
  }
  BindAll(library, loaded.functions, loaded.fault);
  if (loaded.fault.empty() && loaded.functions.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    loaded.fault = absl::StrCat(kLibrary, " cannot be initialised");
  }
  return loaded.fault.empty() ? loaded : Library{.fault = loaded.fault};
}

const Library& Loaded() {
  static const auto& library = *new Library(Load());  // never freed
  return library;
}

}  // namespace

absl::Status LoadCurl() {
  const std::string& fault = Loaded().fault;
  return fault.empty() ? absl::OkStatus() : absl::UnavailableError(fault);
}

const CurlFunctions& Curl() { return Loaded().functions; }

}  // namespace gpuscaler
