// SPDX-License-Identifier: Apache-2.0
#include "io/s3_library.h"

#include <arrow/config.h>
#include <arrow/util/config.h>
#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <mutex>

#include "base/error.h"

namespace icebound::io {
namespace {

/// Looks up functions, remembering the first one that is missing.
class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}

  template <typename Function>
  void Find(const char* symbol, Function** function) {
    *function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
    if (*function == nullptr && missing_.empty()) missing_ = symbol;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* const handle_;
  std::string missing_;
};

/// The directory libarrow was loaded from, with a slash.
std::string ArrowDirectory() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&arrow::GetBuildInfo), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

/// The library beside libarrow; libarrow's own symbols when there is none.
arrow::Result<void*> OpenLibrary() {
  const std::string path = fmt::format("{}libarrow_s3.so.{}", ArrowDirectory(), ARROW_SO_VERSION);
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return RTLD_DEFAULT;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return MakeError(ErrorKind::kUnsupported, "cannot load Arrow's S3 client: {}", dlerror());
  return handle;
}

/// Starts the client unless the host did. `finalize` is how to end it, when that is for us to do.
arrow::Status Start(void* handle, arrow::Status (**finalize)()) {
  bool (*is_initialized)() = nullptr;
  arrow::Status (*initialize)(const arrow::fs::S3GlobalOptions&) = nullptr;
  arrow::Status (*end)() = nullptr;
  Symbols symbols(handle);
  symbols.Find("_ZN5arrow2fs15IsS3InitializedEv", &is_initialized);
  symbols.Find("_ZN5arrow2fs12InitializeS3ERKNS0_15S3GlobalOptionsE", &initialize);
  symbols.Find("_ZN5arrow2fs17EnsureS3FinalizedEv", &end);
  if (!symbols.missing().empty())
    return MakeError(ErrorKind::kUnsupported, "this Arrow was built without S3 ({} is missing)", symbols.missing());
  if (is_initialized()) return arrow::Status::OK();
  arrow::fs::S3GlobalOptions options;
  options.log_level = arrow::fs::S3LogLevel::Off;
  options.num_event_loop_threads = 1;
  ARROW_RETURN_NOT_OK(initialize(options));
  *finalize = end;
  return arrow::Status::OK();
}

arrow::Result<S3Library> Load() {
  ARROW_ASSIGN_OR_RAISE(void* const handle, OpenLibrary());
  S3Library library;
  Symbols symbols(handle);
  symbols.Find("_ZN5arrow2fs9S3Options8DefaultsEv", &library.default_options);
  symbols.Find("_ZN5arrow2fs9S3Options9AnonymousEv", &library.anonymous_options);
  symbols.Find("_ZN5arrow2fs9S3Options13FromAccessKeyERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES9_S9_",
               &library.key_options);
  symbols.Find(
      "_ZN5arrow2fs9S3Options30ConfigureAssumeRoleCredentialsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES9_S9_"
      "iRKSt10shared_ptrIN3Aws3STS9"
      "STSClientEE",
      &library.assume_role);
  symbols.Find("_ZN5arrow2fs14S3ProxyOptions7FromUriERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
               &library.proxy_options);
  symbols.Find("_ZN5arrow2fs21ResolveS3BucketRegionERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
               &library.bucket_region);
  symbols.Find("_ZN5arrow2fs12S3FileSystem4MakeERKNS0_9S3OptionsERKNS_2io9IOContextE", &library.make);
  if (!symbols.missing().empty())
    return MakeError(ErrorKind::kUnsupported, "this Arrow was built without S3 ({} is missing)", symbols.missing());
  ARROW_RETURN_NOT_OK(Start(handle, &library.finalize));
  return library;
}

S3Library g_library;  // trivially destructible: it is there until the very end

}  // namespace

arrow::Result<const S3Library*> LoadS3Library() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (g_library.make == nullptr) {
    ARROW_ASSIGN_OR_RAISE(g_library, Load());
  }
  return &g_library;
}

arrow::Result<std::shared_ptr<arrow::fs::S3FileSystem>> S3Library::Make(const arrow::fs::S3Options& options,
                                                                        const arrow::io::IOContext& context) const {
  auto file_system = make(options, context);
  // Exit handlers run last in, first out, mixed with the destructors of static objects. Registered only now, behind the objects
  // that the library makes with its first client, ours runs while they are there.
  static const bool arranged = finalize == nullptr || std::atexit([] { IgnoreError(g_library.finalize()); }) == 0;
  (void)arranged;
  return file_system;
}

}  // namespace icebound::io
