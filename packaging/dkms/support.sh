# shellcheck shell=bash
# What the tests of the package share. Sourced by them; they have set $cache (kernel/fetch-source).

fail() {
  echo "packaging/dkms: $*" >&2
  exit 1
}

passed() { echo "ok $*"; }

# make_tarball FILE: that of linux-source-6.12, without what prepare-source does not read.
make_tarball() {
  local top=linux-source-6.12
  tar -cf "$1" -C "$cache/linux" --transform "flags=rh;s,^,$top/," Makefile drivers/gpu/drm/amd \
    include/uapi/linux/kfd_ioctl.h Documentation/gpu
}
