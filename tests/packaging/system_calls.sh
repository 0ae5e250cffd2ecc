#!/bin/sh
# The unit allows by name what our programs call and systemd 239 has in no group: everything that
# came after Linux 4.18. Such a call would fail with EPERM, and the daemon would not start.
#   system_calls.sh SOURCE_DIR
set -eu
first_newer=424  # pidfd_send_signal, the first whose number is the same for all architectures
allowed=" $(sed -n 's/^SystemCallFilter=//p' "$1/packaging/gpreemptd.service.in" | tr '\n' ' ') "
numbers=$(printf '#include <sys/syscall.h>\n#include <asm/unistd.h>\n' | "${CC:-cc}" -E -dM - |
  sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$/\1 \2/p')
names=$(grep -rhoE '\bSYS_[a-z0-9_]+' "$1/src" | sed 's/^SYS_//' | sort -u)
status=0 newer=0
for name in $names; do
  number=$(echo "$numbers" | sed -n "s/^$name //p")
  # One that these headers do not have is newer than they are.
  [ "${number:-999}" -ge $first_newer ] || continue
  newer=$((newer + 1))
  case $allowed in
    *" $name "*) ;;
    *) echo "gpreemptd.service.in: SystemCallFilter= does not name $name"; status=1 ;;
  esac
done
[ $newer -gt 0 ] || { echo "no such call was found: does the search work?"; exit 1; }
exit $status
