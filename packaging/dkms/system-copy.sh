# shellcheck shell=bash
# A private copy of the running system, to install packages in. Sourced by a script that runs in a
# mount namespace of its own (unshare --mount): nobody else sees what is mounted here, and it ends
# with the script. The script has set $cache (kernel/fetch-source) and $kernel (a release).
#
#   copy_system FOLDER     FOLDER is covered by a file system in memory; $copy is the system in it
#   in_copy COMMAND...     runs a command in the copy, as root, with a clean environment
#   copy_add_kernel        the kernel and its headers, where their packages install them; of its
#                          modules amdgpu and those that needs, so that depmod is quick
#
# The compiler's cache is shared with the system, if there is one: the whole module takes long.

copy_system() {
  local folder=$1 shared
  mount -t tmpfs -o mode=755 system-copy "$folder"
  copy=$folder/root
  mkdir "$folder/upper" "$folder/work" "$copy"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$copy"
  for shared in /proc /sys /dev; do
    mount --rbind "$shared" "$copy$shared"
  done
  ccache_folder=
  if command -v ccache > /dev/null; then
    ccache_folder=$(ccache --get-config cache_dir)
    mkdir -p "$ccache_folder" "$copy$ccache_folder"
    mount --bind "$ccache_folder" "$copy$ccache_folder"
  fi
}

# Debian's kernel headers use ccache when they are told to (.kernelvariables). With CCACHE_DEPEND
# nothing is preprocessed only to look it up.
in_copy() {
  nice -n 10 chroot "$copy" env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin JOBS="${JOBS:-1}" \
    DEBIAN_KERNEL_USE_CCACHE="$ccache_folder" CCACHE_DIR="$ccache_folder" CCACHE_DEPEND=1 "$@"
}

copy_add_kernel() {
  local modules=lib/modules/$kernel file
  [[ -e $cache/img/$modules/modules.dep ]] || depmod -b "$cache/img" "$kernel"
  mkdir -p "$copy/usr/$modules"
  modprobe -D -d "$cache/img" -S "$kernel" amdgpu | while read -r _ file; do
    file=${file#"$cache/img/"}
    install -D -m 644 "$cache/img/$file" "$copy/usr/$file"
  done
  cp -a "$cache/img/$modules"/modules.{order,builtin,builtin.modinfo} "$cache/hdr/$modules/." \
    "$copy/usr/$modules/"
  cp -a "$cache/img/boot/." "$copy/boot/"
  cp -a "$cache/hdr/usr/." "$copy/usr/"
  # fetch-source has changed the path to that of the cache.
  sed -i 's#^include .*/usr/src/#include /usr/src/#' \
    "$copy/usr/src/linux-headers-$kernel/Makefile"
  in_copy depmod "$kernel"
}
