# What the packages say of themselves; packaging/release/packages gives version and files.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(CPACK_PACKAGE_NAME gpreempt)
set(CPACK_PACKAGE_FILE_NAME gpreempt-${CPACK_PACKAGE_VERSION})
set(CPACK_TOPLEVEL_TAG Linux)
set(CPACK_PACKAGE_VENDOR gpreempt)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Lets urgent GPU work stop other GPU work and gives the GPU back")
set(CPACK_PACKAGE_DESCRIPTION "Latency-critical work (inference) takes an AMD GPU away from throughput
work (training) in the middle of a kernel, and gives it back afterwards with
nothing lost, through the Linux KFD driver. Daemon, command line, library,
the agent for GPU programs, and a virtual GPU to try it without one.")
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
  GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# By hand: dpkg-shlibdeps would ask for the glibc of the system that builds.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28), libgcc-s1")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3")  # for its package gpreempt
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${here}/scripts/triggers ${here}/scripts/shlibs ${here}/scripts/postinst
  ${here}/scripts/prerm ${here}/scripts/postrm)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_ARCHITECTURE x86_64)
set(CPACK_RPM_PACKAGE_LICENSE "MIT AND BSD-3-Clause")
set(CPACK_RPM_PACKAGE_GROUP "System Environment/Daemons")
set(CPACK_RPM_PACKAGE_AUTOREQPROV ON)
# ROCr loads the agent by its path: it is nobody's library. Who only runs it needs no pkg-config.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __provides_exclude_from ^/usr/lib64/gpreempt/.*$
%define __requires_exclude ^/usr/bin/pkg-config$
%define _build_id_links none
%define __strip /bin/true")
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${here}/scripts/rpm-post)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE ${here}/scripts/rpm-preun)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${here}/scripts/rpm-postun)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/systemd /usr/lib/systemd/system
  /usr/share/man /usr/share/man/man1 /usr/share/man/man3 /usr/share/man/man8 /usr/share/doc
  /usr/lib64 /usr/lib64/cmake /usr/lib64/pkgconfig /usr/sbin /usr/libexec)
