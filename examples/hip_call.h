// HIP(call): a failed call says so and ends the program. And which HIP it is.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#define HIP(call)                                                        \
  do {                                                                   \
    const hipError_t hip_error = (call);                                 \
    if (hip_error != hipSuccess) {                                       \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   hipGetErrorString(hip_error));                        \
      std::exit(1);                                                      \
    }                                                                    \
  } while (false)

// "5.2.21153": hipRuntimeGetVersion packs the three numbers into decimal digits.
inline std::string hip_runtime_version() {
  int version = 0;
  HIP(hipRuntimeGetVersion(&version));
  return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100) + "." +
         std::to_string(version % 100000);
}
