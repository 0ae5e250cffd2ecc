# At installation: the loader finds new libraries only after ldconfig has been there. A package's
# own scripts do that (DESTDIR), and in a folder of the user's the loader does not look at all.
#   needs: libdir, CMAKE_INSTALL_PREFIX
if("$ENV{DESTDIR}" STREQUAL "")
  cmake_path(ABSOLUTE_PATH libdir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
  execute_process(COMMAND id -u OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
    message(STATUS "The loader does not look there: LD_LIBRARY_PATH=${libdir}")
  elseif(user EQUAL 0)
    execute_process(COMMAND ldconfig)
  else()
    message(STATUS "For the loader to find the libraries, run as root: ldconfig")
  endif()
endif()
