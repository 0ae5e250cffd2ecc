// How this library replaces functions of libc, and reaches the originals.
//
// It lives in other people's processes, often ones that never look at a GPU: libc only, nothing
// happens at load time, no function allocates, and whatever is not ours goes to the original
// untouched.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>

// Marks a replaced function; everything else is hidden.
#define VGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace vgpu::preload {

// The next definition of a function after ours: libc's, or another preloaded library's. Looked up
// at the first call, because a program's constructors may call us before ours have run.
template <class Function>
class Original {
 public:
  // `otherwise` is called where the libc has no such function yet.
  constexpr explicit Original(const char* name, Function* otherwise = nullptr)
      : name_(name), otherwise_(otherwise) {}

  template <class... Args>
  auto operator()(Args... args) {
    void* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = dlsym(RTLD_NEXT, name_);
      if (function == nullptr) {
        function = reinterpret_cast<void*>(otherwise_);
      }
      if (function == nullptr) {
        abort();  // a libc without a function that a program linked against it calls
      }
      function_.store(function, std::memory_order_relaxed);
    }
    return reinterpret_cast<Function*>(function)(args...);
  }

 private:
  const char* name_;
  Function* otherwise_;
  std::atomic<void*> function_{nullptr};
};

}  // namespace vgpu::preload

// Defines `original_<name>` for a function with libc's own declaration.
#define VGPU_ORIGINAL(name, ...) \
  static constinit vgpu::preload::Original<__VA_ARGS__> original_##name { #name }
// The same with what is called where the libc is older than the function.
#define VGPU_ORIGINAL_OR(name, otherwise, ...) \
  static constinit vgpu::preload::Original<__VA_ARGS__> original_##name { #name, otherwise }
