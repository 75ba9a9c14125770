// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/rest/late_library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

/// One shared object, open for good.
class Library {
 public:
  static arrow::Result<Library> Open(const char* file, const char* package) {
    void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return Library(handle, file);
    return MakeError(ErrorKind::kUnsupported, "a REST catalog needs {}: install it (Debian's package {}): {}", file, package,
                     dlerror());
  }

  template <typename Function>
  arrow::Status Find(const char* name, Function* function) const {
    *function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (*function != nullptr) return arrow::Status::OK();
    return MakeError(ErrorKind::kUnsupported, "{} is too old: it has no function {}", file_, name);
  }

 private:
  Library(void* handle, const char* file) : handle_(handle), file_(file) {}
  void* handle_;
  const char* file_;
};

arrow::Result<CurlFunctions> FindCurl() {
  ARROW_ASSIGN_OR_RAISE(const Library library, Library::Open("libcurl.so.4", "libcurl4"));
  CurlFunctions curl;
  ARROW_RETURN_NOT_OK(library.Find("curl_global_init", &curl.global_init));
  ARROW_RETURN_NOT_OK(library.Find("curl_easy_init", &curl.easy_init));
  ARROW_RETURN_NOT_OK(library.Find("curl_easy_reset", &curl.easy_reset));
  ARROW_RETURN_NOT_OK(library.Find("curl_easy_cleanup", &curl.easy_cleanup));
  ARROW_RETURN_NOT_OK(library.Find("curl_easy_setopt", &curl.easy_setopt));
  ARROW_RETURN_NOT_OK(library.Find("curl_easy_perform", &curl.easy_perform));
  ARROW_RETURN_NOT_OK(library.Find("curl_easy_getinfo", &curl.easy_getinfo));
  ARROW_RETURN_NOT_OK(library.Find("curl_easy_strerror", &curl.easy_strerror));
  ARROW_RETURN_NOT_OK(library.Find("curl_slist_append", &curl.slist_append));
  ARROW_RETURN_NOT_OK(library.Find("curl_slist_free_all", &curl.slist_free_all));
  ARROW_RETURN_NOT_OK(library.Find("curl_getdate", &curl.getdate));
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return MakeError(ErrorKind::kIo, "libcurl cannot be initialised");
  return curl;
}

arrow::Result<CryptoFunctions> FindCrypto() {
  ARROW_ASSIGN_OR_RAISE(const Library library, Library::Open("libcrypto.so.3", "libssl3"));
  CryptoFunctions crypto;
  ARROW_RETURN_NOT_OK(library.Find("SHA256", &crypto.sha256));
  ARROW_RETURN_NOT_OK(library.Find("HMAC", &crypto.hmac));
  ARROW_RETURN_NOT_OK(library.Find("EVP_sha256", &crypto.evp_sha256));
  return crypto;
}

}  // namespace

arrow::Result<const CurlFunctions*> LoadCurl() {
  static const arrow::Result<CurlFunctions> functions = FindCurl();
  ARROW_RETURN_NOT_OK(functions.status());
  return &*functions;
}

arrow::Result<const CryptoFunctions*> LoadCrypto() {
  static const arrow::Result<CryptoFunctions> functions = FindCrypto();
  ARROW_RETURN_NOT_OK(functions.status());
  return &*functions;
}

}  // namespace icebound::iceberg
