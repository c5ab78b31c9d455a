// Loads libcurl on first use. With its dependencies it takes 1.8 MiB of RSS and 2 ms at start,
// which an agent without engines does not need.
#pragma once

#include <curl/curl.h>
#include <openssl/ssl.h>

#include "absl/status/status.h"

namespace gpuscaler {

// The functions in use, without their prefix.
struct CurlFunctions {
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
  // From the OpenSSL that libcurl uses. Null if it uses another library.
  decltype(&::BIO_new) bio_new = nullptr;
  decltype(&::BIO_s_null) bio_s_null = nullptr;
  decltype(&::SSL_CTX_ctrl) ssl_ctx_ctrl = nullptr;
  decltype(&::SSL_CTX_set_msg_callback) ssl_ctx_set_msg_callback = nullptr;
  decltype(&::SSL_in_init) ssl_in_init = nullptr;
  decltype(&::SSL_set0_rbio) ssl_set0_rbio = nullptr;
};

// Returns UNAVAILABLE with the reason if libcurl.so.4 cannot be loaded. Thread-safe.
absl::Status LoadCurl();

// The functions are null if LoadCurl() failed.
const CurlFunctions& Curl();

// Deletes what a std::unique_ptr owns with that function.
template <auto CurlFunctions::*kFree>
struct CurlDeleter {
  template <typename Owned>
  void operator()(Owned* owned) const {
    (Curl().*kFree)(owned);
  }
};

}  // namespace gpuscaler
