# What makes the build shorter. Neither changes what a source has to say for itself: each includes
# what it uses. `make lint`, which reads every source alone (scripts/lint), finds what is missing.

# gp_compile_together(targets...): eight sources at a time are one for the compiler, so that what
# they all instantiate, JSON above all, is compiled once. Names in anonymous namespaces must differ.
function(gp_compile_together)
  if(GPREEMPT_UNITY)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON)
  endif()
endfunction()

# Headers that nearly every file includes, compiled once: they are half of what a file takes.
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fpch-preprocess>)
endif()
set(standard_headers <algorithm> <array> <atomic> <cerrno> <chrono> <condition_variable> <cstring>
  <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view> <thread>
  <unordered_map> <vector> <fmt/format.h>)

# gp_precompiled_headers(name libs... HEADERS headers...): a target whose headers others share by
# gp_use_precompiled(); they must be compiled with the same options.
function(gp_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

function(gp_use_precompiled headers)
  foreach(target ${ARGN})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      # The headers were compiled for libraries: -fPIE would make them others.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endforeach()
endfunction()

gp_precompiled_headers(headers_core fmt Threads::Threads HEADERS ${standard_headers})
# What shows and measures: nobody waits for it, and optimizing JSON takes the compiler long.
gp_precompiled_headers(headers_json fmt Threads::Threads json
  OPTIONS -O1 HEADERS ${standard_headers} <nlohmann/json.hpp>)
