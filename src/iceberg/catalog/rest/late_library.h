// SPDX-License-Identifier: Apache-2.0
//
// Libraries that only REST catalogs need, loaded when the first of them is opened: libcurl, and libcrypto for AWS signatures.
//
// Linked in the usual way, libcurl and the thirty libraries behind it would be part of every process: 6 MiB of its resident
// memory, of the about 30 that a session of 32 MiB has to give out, for programs that never see a REST catalog. What they hold
// once loaded (measured as resident memory) is reserved by the catalog.
#pragma once

#include <arrow/result.h>
#include <curl/curl.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <cstdint>

namespace icebound::iceberg {

/// The libraries and a connection; and what TLS needs beside it, most of it the system's list of certificate authorities.
constexpr int64_t kHttpHeldBytes = 9 << 20;
constexpr int64_t kTlsHeldBytes = 3 << 20;

/// The functions of libcurl that are used.
struct CurlFunctions {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_getdate) getdate;
};

/// Loaded and initialised once in a process, and never unloaded. kUnsupported, with what to install, when there is none. Thread
/// safe.
arrow::Result<const CurlFunctions*> LoadCurl();

struct CryptoFunctions {
  decltype(&::SHA256) sha256;
  decltype(&::HMAC) hmac;
  decltype(&::EVP_sha256) evp_sha256;
};
arrow::Result<const CryptoFunctions*> LoadCrypto();

}  // namespace icebound::iceberg
