#!/bin/sh
# gpreempt-load on another release of ROCr, as tests/rocm/run starts it:
#   load_in_release.sh VGPU LOAD
# Every kernel must run there, from code objects that one program holds for all releases.
set -eu
vgpu=$1 load=$2 root=$GPREEMPT_TEST_ROCM_ROOT
output=$(printf '%s\n' 'calibrate kernel=small groups=8' 'calibrate kernel=registers groups=2' \
  'calibrate kernel=lds groups=2' quit |
  "$vgpu" run -- "$root/lib64/ld-linux-x86-64.so.2" --inhibit-cache \
    --library-path "$root/usr/lib/x86_64-linux-gnu" "$load")
echo "$output"
case $output in *"library=$root"*) ;; *) echo "not with the library of $root"; exit 1 ;; esac
for kernel in small registers lds; do
  # A wrong result would have ended the program.
  case $output in *"rate kernel=$kernel "*) ;; *) echo "$kernel did not run"; exit 1 ;; esac
done
