# What the build needs of others. All that is missing is told at once, with the package that has it.
#
# Four libraries are used by their headers alone (src/libraries compiles what must be): they come from
# the system or, where it has none or old ones, from a folder that holds fmt/, nlohmann/, CLI/ and
# toml++/, each as its authors publish it.
set(GPREEMPT_HEADERS_DIR "" CACHE PATH "Folder with headers of fmt, nlohmann-json, CLI11, toml++ and HSA")

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 10)
  message(FATAL_ERROR "gpreempt is C++20: g++ 10 or newer, not ${CMAKE_CXX_COMPILER_VERSION}\n"
    "RHEL 8, Alibaba Cloud Linux 3: dnf install gcc-toolset-12; then in `scl enable gcc-toolset-12 bash`")
endif()

# What cannot be built here is left out, and said at the end (gp_say_what_is_left_out).
set(left_out "")
macro(gp_leave_out what why)
  string(APPEND left_out "\n  ${what}: ${why}")
endmacro()
function(gp_say_what_is_left_out)
  if(left_out)
    message(STATUS "Left out:${left_out}")
  endif()
endfunction()

# The virtual GPU is written for g++ 11: `using enum`, std::bit_cast.
option(GPREEMPT_VGPU "Build the virtual GPU" ON)
if(GPREEMPT_VGPU AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
  set(GPREEMPT_VGPU OFF)
  gp_leave_out("the virtual GPU, and the tests" "g++ ${CMAKE_CXX_COMPILER_VERSION}; they need g++ 11")
endif()
if(NOT GPREEMPT_VGPU)
  set(GPREEMPT_TESTS OFF)
endif()

# HIP programs: examples, and what many tests run.
find_program(HIPCC hipcc HINTS /opt/rocm/bin)
if(NOT HIPCC)
  gp_leave_out("example programs, and tests that run HIP programs" "there is no hipcc")
endif()

set(missing "")
# gp_needs(variable header apt dnf zypper): the folder that <header> lies in, or it is missing.
macro(gp_needs variable header apt dnf zypper)
  find_path(${variable} ${header} HINTS ${GPREEMPT_HEADERS_DIR} ${GPREEMPT_HEADERS_DIR}/include)
  if(NOT ${variable})
    string(APPEND missing "\n  ${header}\n    apt: ${apt}   dnf: ${dnf}   zypper: ${zypper}")
  endif()
endmacro()

gp_needs(FMT_INCLUDE_DIR fmt/format-inl.h libfmt-dev fmt-devel fmt-devel)
gp_needs(JSON_INCLUDE_DIR nlohmann/json.hpp nlohmann-json3-dev json-devel nlohmann_json-devel)
gp_needs(CLI11_INCLUDE_DIR CLI/CLI.hpp libcli11-dev cli11-devel cli11-devel)
gp_needs(TOML_INCLUDE_DIR toml++/toml.h libtomlplusplus-dev tomlplusplus-devel tomlplusplus-devel)
if(GPREEMPT_TESTS)
  gp_needs(GTEST_INCLUDE_DIR gtest/gtest.h libgtest-dev gtest-devel gtest)
  gp_needs(RAPIDCHECK_INCLUDE_DIR rapidcheck.h librapidcheck-dev rapidcheck-devel rapidcheck-devel)
endif()
if(missing)
  message(FATAL_ERROR "These headers are missing; a package of the system has each:${missing}\n"
    "On RHEL and its like dnf needs EPEL. Header-only libraries may also lie in a folder: "
    "-DGPREEMPT_HEADERS_DIR=FOLDER. Without tests: -DGPREEMPT_TESTS=OFF. docs/install.md says more.")
endif()

# ROCr's own headers.
set(rocr_places ${GPREEMPT_HEADERS_DIR} ${GPREEMPT_HEADERS_DIR}/include /opt/rocm/include)
find_path(HSA_TRACE_INCLUDE_DIR hsa/hsa_api_trace.h HINTS ${rocr_places})
find_path(HSA_INCLUDE_DIR hsa/hsa_ext_amd.h HINTS ${rocr_places})
if(NOT HSA_TRACE_INCLUDE_DIR)
  gp_leave_out("the agent, without which `gpreempt run` starts no program" "there is no \
hsa/hsa_api_trace.h (apt: libhsa-runtime-dev, AMD's hsa-rocr-dev; dnf: rocm-runtime-devel, AMD's \
hsa-rocr-devel)")
endif()
find_package(Threads REQUIRED)
