#!/bin/bash
# The packages of a release hold its tree below /usr, ask for no more than glibc 2.28, and please
# their systems' own tools, as far as those are here. Unpacked anywhere, the parts find each other.
#   packages.sh BUILD_DIR
set -eu -o pipefail
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1"
  exit 1
}
command -v dpkg-deb > /dev/null || { echo "skipped: no dpkg-deb here"; exit 77; }

tree=$("$source/scripts/dist" --no-build --tree --build "$build" --output "$scratch")
version=$("$tree/bin/gpreempt" version | cut -d ' ' -f 2)
kinds=(deb)
if command -v rpmbuild > /dev/null && command -v cpio > /dev/null; then kinds+=(rpm); fi
"$source/packaging/release/packages" "$tree" "$version" "$scratch" "${kinds[@]}" > /dev/null

# works FOLDER LIB: what was unpacked there, with its libraries in usr/LIB.
works() {
  local usr=$1/usr agent unit=$1/usr/lib/systemd/system/gpreemptd.service
  agent=$("$usr/bin/gpreempt" run --class online -- env 2> /dev/null | sed -n 's/^HSA_TOOLS_LIB=//p')
  [[ $agent == "$usr/$2/gpreempt/libgpreempt_agent.so" ]] || fail "$1: the agent is $agent"
  [[ $("$usr/bin/vgpu" run -- "$usr/bin/gpreempt" queues) == *gfx90a* ]] || fail "$1: no virtual GPU"
  grep -qx 'ExecStart=/usr/sbin/gpreemptd' "$unit" || fail "$unit"
  [[ $(PKG_CONFIG_PATH=$usr/$2/pkgconfig pkg-config --variable=libdir gpreempt) -ef $usr/$2 ]] ||
    fail "$1: pkg-config finds the library elsewhere"
  mkdir "$1/cmake"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' 'project(stranger LANGUAGES C)' \
    'find_package(gpreempt 0.1 REQUIRED)' > "$1/cmake/CMakeLists.txt"
  cmake -S "$1/cmake" -B "$1/cmake/build" -Dgpreempt_DIR="$usr/$2/cmake/gpreempt" > "$scratch/said" 2>&1 ||
    fail "find_package: $(cat "$scratch/said")"
  "$source/packaging/release/check-portable" "$usr"
}

deb=$(ls "$scratch"/*.deb)
dpkg-deb -x "$deb" "$scratch/deb"
works "$scratch/deb" lib
[[ $(dpkg-deb -f "$deb" Version) == "$version" ]]
if command -v python3 > /dev/null; then
  found=$(LD_LIBRARY_PATH=$scratch/deb/usr/lib PYTHONPATH=$scratch/deb/usr/lib/python3/dist-packages \
    PYTHONDONTWRITEBYTECODE=1 python3 -c 'import gpreempt; print(gpreempt.library_version())')
  [[ $found == "$version" ]] || fail "Python finds $found"
fi
dpkg-deb --ctrl-tarfile "$deb" | tar -t | grep -q postinst
if command -v lintian > /dev/null; then
  lintian --fail-on error,warning "$deb" 2>&1 || fail "lintian"
fi

[[ ${#kinds[@]} -gt 1 ]] || { echo "no rpmbuild or cpio here: .deb only"; exit 0; }
rpm=$(ls "$scratch"/*.rpm)
mkdir "$scratch/rpm"
rpm2cpio "$rpm" | (cd "$scratch/rpm" && cpio -id --quiet)
works "$scratch/rpm" lib64
newest=$(rpm -qp --requires "$rpm" 2> /dev/null | sed -n 's/.*(GLIBC_\([0-9.]*\)).*/\1/p' | sort -V | tail -1)
[[ $(printf '%s\n' "$newest" 2.28 | sort -V | tail -1) == 2.28 ]] || fail "the rpm asks for glibc $newest"
if command -v rpmlint > /dev/null; then
  rpmlint -c "$source/packaging/release/rpmlint.toml" "$rpm" || fail "rpmlint"
fi
