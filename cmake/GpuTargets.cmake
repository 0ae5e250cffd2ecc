# Kernels for several GPUs in one program: an OpenCL C source that calls no library, compiled by
# clang alone (no ROCm needed) to one code object per target.
#
#   GPREEMPT_GPU_CLANG     the compiler; the newest there is. gfx942 needs 17, gfx950 20
#   GPREEMPT_GPU_TARGETS   the GPUs; without it, those of the list below that the compiler knows

find_program(GPREEMPT_GPU_CLANG NAMES clang-21 clang-20 clang-19 clang-18 clang-17 clang-16 clang-15
  clang DOC "The clang that compiles kernels for AMD GPUs")
set(GPREEMPT_GPU_TARGETS "" CACHE STRING "GPUs to compile kernels for (gfx942;...); empty: all known")
set(gp_usual_targets gfx906 gfx90a gfx942 gfx950 gfx1100 gfx1201)

# Version 4 of code objects is what ROCr 5.2 and 7.2 both load. Kernels count on waves of 64 lanes.
function(gp_kernel_command out target)
  set(wave)
  if(target MATCHES "^gfx1")
    set(wave -mwavefrontsize64)
  endif()
  set(${out} ${GPREEMPT_GPU_CLANG} -target amdgcn-amd-amdhsa -mcpu=${target} ${wave} -x cl
    -cl-std=CL2.0 -O2 -Wall -Wextra -nogpulib -mcode-object-version=4 PARENT_SCOPE)
endfunction()

# gp_compile_kernels(source out): ${out} is a list of code objects, NAME.TARGET.co in the build
# folder; empty without a compiler.
function(gp_compile_kernels source out)
  set(${out} "" PARENT_SCOPE)
  if(NOT GPREEMPT_GPU_CLANG)
    return()
  endif()
  get_filename_component(name ${source} NAME_WE)
  set(targets ${GPREEMPT_GPU_TARGETS})
  if(NOT targets)
    foreach(target ${gp_usual_targets})
      gp_kernel_command(command ${target})
      execute_process(COMMAND ${command} -c ${source} -o /dev/null
        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
      if(NOT failed)
        list(APPEND targets ${target})
      endif()
    endforeach()
  endif()
  string(REPLACE ";" " " shown "${targets}")
  message(STATUS "GPU kernels by ${GPREEMPT_GPU_CLANG}: ${shown}")
  set(objects)
  foreach(target ${targets})
    gp_kernel_command(command ${target})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.${target}.co)
    add_custom_command(OUTPUT ${object} COMMAND ${command} ${source} -o ${object}
      DEPENDS ${source} COMMENT "kernels for ${target}: ${name}")
    list(APPEND objects ${object})
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

# gp_embed_code_objects(program objects...): makes code_objects() of code_objects.h.
function(gp_embed_code_objects program)
  set(text "#include \"code_objects.h\"\n")
  set(table)
  set(number 0)
  foreach(object ${ARGN})
    get_filename_component(target ${object} NAME_WLE)
    get_filename_component(target ${target} LAST_EXT)
    string(SUBSTRING ${target} 1 -1 target)
    string(APPEND text "asm(\".section .rodata\\n.balign 4096\\n.global gp_code_${number}\\n\"\n"
      "    \".global gp_code_${number}_end\\ngp_code_${number}: .incbin \\\"${object}\\\"\\n\"\n"
      "    \"gp_code_${number}_end:\\n.previous\\n\");\n"
      "extern \"C\" const char gp_code_${number}[], gp_code_${number}_end[];\n")
    string(APPEND table "    {\"${target}\", gp_code_${number}, gp_code_${number}_end},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND text "namespace gp::load {\nstd::span<const CodeObject> code_objects() {\n"
    "  static const CodeObject all[] = {\n${table}  };\n  return all;\n}\n}  // namespace gp::load\n")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/code_objects.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARGN}")
  target_sources(${program} PRIVATE ${source})
  target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()
