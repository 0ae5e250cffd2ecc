#!/bin/sh
# inside_symbols.sh ARCHIVE: what runs inside other people's processes needs libc alone.
if nm -uC "$1" | grep -E 'std::|operator (new|delete)|__cxa|__gxx|_Unwind|typeinfo'; then
  echo "$1 needs libstdc++"
  exit 1
fi
