# At installation: writes the unit, which must name the program where it was installed. The prefix is
# only known now (cmake --install --prefix). DESTDIR, where a package is put together, is no part of
# the name.
#   needs: source (the packaging folder), sbindir, CMAKE_INSTALL_PREFIX
cmake_path(ABSOLUTE_PATH sbindir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
set(gpreemptd "${sbindir}/gpreemptd")
set(unit "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system/gpreemptd.service")
message(STATUS "Installing: ${unit}")
configure_file("${source}/gpreemptd.service.in" "${unit}" @ONLY)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${unit}")
