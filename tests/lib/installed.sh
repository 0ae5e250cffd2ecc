#!/bin/bash
# Installs into a scratch directory and uses what is there as a stranger would.
#   installed.sh BUILD_DIR
set -eu -o pipefail
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
command -v pkg-config > /dev/null || { echo "no pkg-config"; exit 77; }

cmake --install "$build" --component gpreempt --prefix "$scratch/usr" > /dev/null
libdir=$(dirname "$(find "$scratch/usr" -name libgpreempt.so)")
library=$(readlink -f "$libdir/libgpreempt.so")

# libc and libstdc++ alone, and no symbol but those of the header.
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
  case $name in
    libc.so.6 | libpthread.so.0 | libdl.so.2 | libm.so.6 | ld-linux-x86-64.so.2) ;;
    libstdc++.so.6 | libgcc_s.so.1) ;;
    *) echo "$library needs $name"; exit 1 ;;
  esac
done
readelf -d "$library" | grep -q 'SONAME.*\[libgpreempt.so.0\]'
declared=$(grep -ozP 'GPREEMPT_API[^;{]*?\bgpreempt_\w+(?=\()' "$source/include/gpreempt/gpreempt.h" |
  tr '\0' '\n' | grep -oE 'gpreempt_\w+$' | sort -u)
exported=$(nm -D --defined-only "$library" | awk '$2 == "T" {print $3}' | sed 's/@.*//' | sort -u)
diff <(echo "$declared") <(echo "$exported")

# By pkg-config, in C, old headers included by their bare name.
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
cat > "$scratch/main.c" << 'END'
#include <gpreempt/gpreempt.h>
#include <gpreempt_poc.h>
#include <stdio.h>

#include "gpreempt_poc_v2.h"

int main(void) {
  gpreempt_context *context = NULL;
  gpreempt_queue_info_t info = {0};
  if (gpreempt_open(NULL, &context) != 0 || info.tag[0] != 0) return 1;
  gpreempt_close(context);
  puts(gpreempt_version_text());
  return gpreempt_version() != GPREEMPT_VERSION;
}
END
cc -std=c99 -pedantic -Wall -Wextra -Werror "$scratch/main.c" -o "$scratch/by_pkg_config" \
  $(pkg-config --cflags --libs gpreempt)
[[ $("$scratch/by_pkg_config") == $(pkg-config --modversion gpreempt) ]]

# By CMake's find_package, the early libraries too.
cat > "$scratch/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.20)
project(stranger LANGUAGES C)
find_package(gpreempt 0.1 REQUIRED)
add_executable(by_cmake main.c)
target_link_libraries(by_cmake gpreempt::gpreempt gpreempt::gpreempt_poc_v2)
END
cmake -S "$scratch" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/usr" > /dev/null
cmake --build "$scratch/build" > /dev/null
"$scratch/build/by_cmake" > /dev/null

# systemd starts the program that was installed; a package does not name the folder it is put
# together in.
unit=$scratch/usr/lib/systemd/system/gpreemptd.service
[[ $(sed -n 's/^ExecStart=//p' "$unit") == "$scratch/usr/sbin/gpreemptd" ]]
"$scratch/usr/sbin/gpreemptd" --version > /dev/null
DESTDIR=$scratch/package cmake --install "$build" --component gpreempt --prefix /opt/gp > /dev/null
grep -qx 'ExecStart=/opt/gp/sbin/gpreemptd' "$scratch/package/opt/gp/lib/systemd/system/gpreemptd.service"

# The program and its page.
"$scratch/usr/bin/gpreempt" version > /dev/null
test -f "$scratch/usr/share/man/man1/gpreempt.1" -a -f "$scratch/usr/share/man/man3/gpreempt.3"
