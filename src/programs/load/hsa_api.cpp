#include "hsa_api.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace gp::load {
namespace {

constexpr const char* kLibrary = "libhsa-runtime64.so.1";
constexpr int kNoDevice = 3;

std::string& library_path() {
  static std::string path;
  return path;
}

void* open_library() {
  std::string places[] = {kLibrary, "", std::string("/opt/rocm/lib/") + kLibrary};
  if (const char* rocm = std::getenv("ROCM_PATH"); rocm != nullptr) {
    places[1] = std::string(rocm) + "/lib/" + kLibrary;
  }
  std::string errors;
  for (const std::string& place : places) {
    if (place.empty()) {
      continue;
    }
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL); library != nullptr) {
      return library;
    }
    errors += std::string("\n  ") + dlerror();
  }
  fail(kNoDevice,
       "ROCm's runtime cannot be loaded:%s\n"
       "hint: run this where ROCm is (in its container), or set ROCM_PATH to its folder",
       errors.c_str());
}

void* symbol_of(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) {
    fail(kNoDevice, "%s has no %s\nhint: it is older than ROCm 5.2", library_path().c_str(), name);
  }
  return symbol;
}

HsaApi load() {
  void* library = open_library();
  HsaApi api;
  Dl_info found{};
  if (dladdr(dlsym(library, "hsa_init"), &found) != 0 && found.dli_fname != nullptr) {
    // Behind the links: libhsa-runtime64.so.1.15.60400 says which ROCm it is of.
    char* real = ::realpath(found.dli_fname, nullptr);
    library_path() = real != nullptr ? real : found.dli_fname;
    std::free(real);
  }
#define GP_LOAD_LOOK_UP(function) \
  api.function = reinterpret_cast<decltype(api.function)>(symbol_of(library, #function));
  GP_LOAD_HSA_FUNCTIONS(GP_LOAD_LOOK_UP)
#undef GP_LOAD_LOOK_UP
  return api;
}

}  // namespace

const HsaApi& hsa() {
  static const HsaApi api = load();
  return api;
}

const char* hsa_library_path() { return library_path().c_str(); }

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) {
    return;
  }
  const char* text = nullptr;
  hsa().hsa_status_string(status, &text);
  fail(1, "cannot %s: %s (HSA status 0x%x)", what, text != nullptr ? text : "unknown error",
       static_cast<unsigned>(status));
}

void fail(int exit_status, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::fputs("gpreempt-load: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
  std::fflush(nullptr);
  _exit(exit_status);
}

}  // namespace gp::load
