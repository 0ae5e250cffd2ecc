#!/bin/sh
# With the capabilities that the unit leaves, root reads what processes of other users say of
# themselves: their environment has the class, their descriptors are what `kernel` and criu copy.
#   capabilities.sh UNIT.in
set -eu
[ "$(id -u)" = 0 ] || { echo "only root can become another user"; exit 77; }
command -v setpriv > /dev/null || { echo "no setpriv here"; exit 77; }
left=$(sed -n 's/^CapabilityBoundingSet=//p' "$1" | tr 'A-Z' 'a-z' | sed 's/cap_/,+/g; s/ //g')
[ -n "$left" ]
setpriv --reuid 60001 --clear-groups env GPREEMPT_CLASS=offline sleep 60 &
other=$!
trap 'kill "$other"' EXIT
tries=0
until tr '\0' '\n' < "/proc/$other/environ" | grep -qx GPREEMPT_CLASS=offline; do
  tries=$((tries + 1))
  [ $tries -lt 300 ]
  sleep 0.1
done
setpriv --bounding-set="-all$left" --inh-caps=-all sh -eu -c "
  tr '\\0' '\\n' < /proc/$other/environ | grep -qx GPREEMPT_CLASS=offline
  ls /proc/$other/fd > /dev/null"
