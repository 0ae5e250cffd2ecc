# What is installed can be linked so that it runs on every x86-64 Linux with glibc 2.28 or newer, not
# only on systems as new as this one: libstdc++ goes into it, and of glibc it uses no symbol that is
# newer (cmake/old_glibc; tests/packaging looks). The programs stay dynamic: a static one would not
# know the users of LDAP, and could not be given a virtual GPU, which comes by LD_PRELOAD. libgcc_s
# stays a library, too: every system has it, and its symbols are older than all of these.
#
# The objects are the same, only the link is another. It is the `release` preset's.
set(oldest_glibc 2.28)

# gp_portable(targets...): links those that exist so.
function(gp_portable)
  if(NOT GPREEMPT_PORTABLE)
    return()
  endif()
  foreach(target ${ARGN})
    if(NOT TARGET ${target})
      continue()
    endif()
    target_link_options(${target} PRIVATE $<$<LINK_LANGUAGE:CXX>:-static-libstdc++>
      -L${old_glibc} -Wl,--wrap=__libc_start_main -Wl,--allow-shlib-undefined)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${old_glibc}/libc.so)
    add_dependencies(${target} old_glibc)
  endforeach()
endfunction()

if(NOT GPREEMPT_PORTABLE)
  return()
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR GPREEMPT_SANITIZE)
  message(FATAL_ERROR "GPREEMPT_PORTABLE is for x86-64, without a sanitizer: -DGPREEMPT_PORTABLE=OFF")
endif()
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE static_libstdcxx
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT IS_ABSOLUTE "${static_libstdcxx}")
  message(FATAL_ERROR "There is no libstdc++.a here (dnf install libstdc++-static): install it, or "
    "link for this system only, -DGPREEMPT_PORTABLE=OFF")
endif()

set(old_glibc ${CMAKE_BINARY_DIR}/old_glibc)
set(make_stubs ${CMAKE_CURRENT_LIST_DIR}/old_glibc/make-stubs)
set(newer_sources newer.c clock_wait.c start.c)
list(TRANSFORM newer_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/old_glibc/)
add_library(newer_glibc STATIC ${newer_sources})
add_custom_command(OUTPUT ${old_glibc}/libc.so
  COMMAND ${make_stubs} ${oldest_glibc} ${old_glibc} $<TARGET_FILE:newer_glibc> ${CMAKE_C_COMPILER}
  DEPENDS ${make_stubs} newer_glibc
  COMMENT "glibc ${oldest_glibc} to link against")
add_custom_target(old_glibc DEPENDS ${old_glibc}/libc.so)
