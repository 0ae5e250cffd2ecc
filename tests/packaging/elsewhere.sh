#!/bin/bash
# On a system that has nothing, cmake names all that is missing, with the packages; headers may come
# from a folder; what cannot be built is left out and named.
#   elsewhere.sh SOURCE BUILD_DIR
set -eu -o pipefail
source=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1"
  cat "$scratch/said"
  exit 1
}
# The compiler's own folders aside, nothing of this system is found.
configure() {
  cmake -S "$source" -B "$scratch/build" -G Ninja -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF \
    -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_MAKE_PROGRAM="$(command -v ninja)" \
    -DCMAKE_C_COMPILER="$(command -v cc)" -DCMAKE_CXX_COMPILER="$(command -v c++)" \
    -DCMAKE_AR="$(command -v ar)" -DCMAKE_LINKER="$(command -v ld)" "$@" > "$scratch/said" 2>&1
}
says() { grep -qF -e "$1" "$scratch/said" || fail "cmake did not say: $1"; }

! configure || fail "configured without anything"
for name in fmt/format-inl.h nlohmann/json.hpp CLI/CLI.hpp toml++/toml.h gtest/gtest.h rapidcheck.h \
  'apt: libfmt-dev' 'dnf: fmt-devel' 'zypper: gtest' -DGPREEMPT_HEADERS_DIR; do
  says "$name"
done

mkdir "$scratch/headers"
for variable in FMT JSON CLI11 TOML; do
  found=$(sed -n "s/^${variable}_INCLUDE_DIR:PATH=//p" "$build/CMakeCache.txt")
  for folder in fmt nlohmann CLI toml++; do
    [[ ! -d $found/$folder ]] || ln -sfn "$found/$folder" "$scratch/headers/$folder"
  done
done
configure -DGPREEMPT_HEADERS_DIR="$scratch/headers" -DGPREEMPT_TESTS=OFF || fail "not configured"
says 'there is no hipcc'
says 'the agent'
