#!/bin/sh
# The agent lives in other people's processes: it may need nothing but libc, and no newer one than
# newest_glibc, and may show nothing but the two functions that ROCr calls.
set -eu
library=$1
newest_glibc=2.34  # pthread_create and others are libc's own since then
needed=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
for name in $needed; do
  case $name in
    libc.so.6 | ld-linux-x86-64.so.2) ;;
    *) echo "$library needs $name"; exit 1 ;;
  esac
done
if nm -D --undefined-only "$library" | grep -E ' (_Z|__cxa_(throw|guard|begin)|_Unwind)'; then
  echo "$library uses the C++ runtime"
  exit 1
fi
version=$(nm -D --undefined-only "$library" | sed -n 's/.*@GLIBC_\([0-9.]*\)$/\1/p' | sort -V | tail -1)
if [ "$(printf '%s\n' "$version" "$newest_glibc" | sort -V | tail -1)" != "$newest_glibc" ]; then
  echo "$library needs glibc $version, newer than $newest_glibc:"
  nm -D --undefined-only "$library" | grep "@GLIBC_$version"
  exit 1
fi
shown=$(nm -D --defined-only "$library" | awk '{print $3}' | sort | tr '\n' ' ')
if [ "$shown" != "OnLoad OnUnload " ]; then
  echo "$library shows: $shown"
  exit 1
fi
