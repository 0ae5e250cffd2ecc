#!/bin/sh
# needs_libc_alone.sh FILE...: what lives in other people's processes (archives, libraries, programs)
# needs nothing but libc, and none newer than newest_glibc. Says what each needs beyond that.
set -eu
newest_glibc=2.34  # of any build; a release needs 2.28 (tests/packaging)
status=0
refuse() {
  echo "$1"
  status=1
}
for file; do
  if nm -uC "$file" 2> /dev/null |
    grep -E 'std::|operator (new|delete)|__cxa_(throw|guard|begin|pure)|__gxx|_Unwind|typeinfo'; then
    refuse "$file uses the C++ runtime"
  fi
  case $file in *.a) continue ;; esac
  for name in $(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'); do
    case $name in
      libc.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux-x86-64.so.2) ;;  # all of glibc
      *) refuse "$file needs $name" ;;
    esac
  done
  symbols=$(nm -D --undefined-only "$file")
  version=$(echo "$symbols" | sed -n 's/.*@GLIBC_\([0-9.]*\)$/\1/p' | sort -V | tail -1)
  [ -n "$version" ] || refuse "$file: no symbol of libc found"
  if [ "$(printf '%s\n' "$version" "$newest_glibc" | sort -V | tail -1)" != "$newest_glibc" ]; then
    echo "$symbols" | grep "@GLIBC_$version"
    refuse "$file needs glibc $version, newer than $newest_glibc"
  fi
done
exit $status
