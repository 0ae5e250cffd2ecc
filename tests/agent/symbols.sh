#!/bin/sh
# The agent lives in other people's processes: it may need nothing but libc, and may show nothing
# but the two functions that ROCr calls.
set -eu
library=$1
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
shown=$(nm -D --defined-only "$library" | awk '{print $3}' | sort | tr '\n' ' ')
if [ "$shown" != "OnLoad OnUnload " ]; then
  echo "$library shows: $shown"
  exit 1
fi
