// HIP(call): a failed call says so and ends the program.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP(call)                                                        \
  do {                                                                   \
    const hipError_t hip_error = (call);                                 \
    if (hip_error != hipSuccess) {                                       \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   hipGetErrorString(hip_error));                        \
      std::exit(1);                                                      \
    }                                                                    \
  } while (false)
