#!/bin/bash
# The executors are compiled for newer CPUs than the rest. An inline function they share with it would
# be emitted once more, for the newer CPU, and the linker may keep that copy for everybody. So an
# executor's object may only define shared (weak) symbols of its own namespace.
#   engine_symbols.sh v3|v4 OBJECT...
set -eu -o pipefail
level=$1
shift
shared=$(nm --demangle "$@" | grep -E '^[0-9a-f]+ [WVu] ' | grep -v -e "vgpu::isa::$level::" -e 'DW.ref.' || true)
if [[ -n $shared ]]; then
  echo "the $level executors share these symbols with the rest of the program:"
  sort -u <<< "$shared"
  exit 1
fi
