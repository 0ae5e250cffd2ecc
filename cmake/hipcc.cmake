# ${hipcc}: the command that compiles HIP programs.
find_program(HIPCC hipcc REQUIRED)
# Clang leaves an empty directory per program where its temporary files were.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tmp)
set(hipcc ${CMAKE_COMMAND} -E env TMPDIR=${CMAKE_BINARY_DIR}/tmp ${HIPCC})
