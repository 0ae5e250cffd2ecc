# ${hipcc}: the command that compiles HIP programs; cmake/dependencies.cmake has found it.
# Clang leaves an empty directory per program where its temporary files were.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tmp)
set(hipcc ${CMAKE_COMMAND} -E env TMPDIR=${CMAKE_BINARY_DIR}/tmp ${HIPCC})

# ${hip_example_targets}: --offload-arch=... for programs that are installed: those of
# GPREEMPT_GPU_TARGETS, or of the usual GPUs, that this compiler knows, and the virtual GPU's. Tests
# are compiled for the virtual GPU alone: they run on nothing else.
include(${PROJECT_SOURCE_DIR}/cmake/GpuTargets.cmake)
set(wanted ${GPREEMPT_GPU_TARGETS})
if(NOT wanted)
  set(wanted ${gp_usual_targets})
endif()
list(APPEND wanted gfx906 gfx90a)
list(REMOVE_DUPLICATES wanted)
if(NOT "${wanted}" STREQUAL "${GPREEMPT_HIP_TARGETS_ASKED}")
  set(known)
  foreach(target ${wanted})
    execute_process(COMMAND ${hipcc} --offload-arch=${target} --cuda-device-only -x hip -c /dev/null
      -o ${CMAKE_BINARY_DIR}/tmp/probe.o RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      list(APPEND known ${target})
    endif()
  endforeach()
  string(REPLACE ";" " " shown "${known}")
  message(STATUS "HIP examples by ${HIPCC}: ${shown}")
  set(GPREEMPT_HIP_TARGETS_ASKED "${wanted}" CACHE INTERNAL "what hipcc was asked for")
  set(GPREEMPT_HIP_TARGETS "${known}" CACHE INTERNAL "what hipcc knows of it")
endif()
list(TRANSFORM GPREEMPT_HIP_TARGETS PREPEND --offload-arch= OUTPUT_VARIABLE hip_example_targets)
