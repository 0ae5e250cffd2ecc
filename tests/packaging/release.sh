#!/bin/bash
# The archive of a release has all it should, is for old systems too, and install.sh puts it where it
# is told and takes away nothing but that.
#   release.sh BUILD_DIR
set -eu -o pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1"
  exit 1
}
# refused STATUS TEXT COMMAND...: it ends so, and says that.
refused() {
  local status=0 expected=$1 text=$2
  shift 2
  "$@" > "$scratch/said" 2>&1 || status=$?
  [[ $status -eq $expected ]] || fail "$* ended with $status: $(cat "$scratch/said")"
  grep -qF -e "$text" "$scratch/said" || fail "$* did not say '$text': $(cat "$scratch/said")"
}

# Complete, nothing else in it, and all for glibc 2.28 (scripts/dist checks that).
tree=$("$source/scripts/dist" --no-build --tree --build "$build" --output "$scratch/dist")
version=$("$tree/bin/gpreempt" version | cut -d ' ' -f 2)
(cd "$tree" && find . ! -type d | sed 's|^\./||' | LC_ALL=C sort) > "$scratch/files"
sed "s/VERSION/$version/" "$here/release_files.txt" | diff - "$scratch/files" ||
  fail "the tree is not what release_files.txt lists"

# Every page that a page leads to is there.
(cd "$tree" && for page in README.md docs/*.md; do
  grep -oE '\]\([^):#]+\.md' "$page" | cut -c 3- | sort -u | while read -r link; do
    [[ -f $(realpath -ms "$(dirname "$page")/$link") ]] || echo "$page leads to $link"
  done || true
done) > "$scratch/said"
[[ ! -s $scratch/said ]] || fail "$(< "$scratch/said")"

# The check finds what it is for.
mkdir "$scratch/newer"
refused 1 'no programs' "$source/packaging/release/check-portable" "$scratch/newer"
cp "$build/bin/base_tests" "$scratch/newer/"
refused 1 'base_tests needs libstdc++' "$source/packaging/release/check-portable" "$scratch/newer"
refused 1 'needs a libstdc++.so' "$source/packaging/release/check-portable" "$scratch/newer"
refused 1 'base_tests needs glibc 2.' "$source/packaging/release/check-portable" "$scratch/newer"

# It works from the folder, by the name alone and by a link from elsewhere.
agent_by() { "$@" run --class online -- env 2> /dev/null | sed -n 's/^HSA_TOOLS_LIB=//p'; }
ln -s "$tree/bin/gpreempt" "$scratch/link"
[[ $(PATH=$tree/bin:$PATH agent_by gpreempt) == "$tree/lib/gpreempt/libgpreempt_agent.so" ]]
[[ $(agent_by "$scratch/link") == "$tree/lib/gpreempt/libgpreempt_agent.so" ]]
[[ $("$tree/bin/vgpu" run -- "$tree/bin/gpreempt" queues) == *gfx90a* ]]

# Python finds the library of the folder that it is in.
if command -v python3 > /dev/null; then
  [[ $(PYTHONPATH=$tree/share/gpreempt/python PYTHONDONTWRITEBYTECODE=1 python3 -c \
    'import gpreempt; print(gpreempt.library_path())') == "$tree/lib/libgpreempt.so.0" ]] ||
    fail "Python finds another library"
fi

# Installed, twice, beside what was there before; the unit names the program.
prefix=$scratch/some/where
mkdir -p "$prefix/share/man" "$prefix/etc"
echo mine > "$prefix/etc/mine"
"$tree/install.sh" --prefix "$prefix" --no-systemd > /dev/null
echo "bin/of-an-older-version" >> "$prefix/lib/gpreempt/installed-files"
touch "$prefix/bin/of-an-older-version" "$prefix/bin/somebody-elses"
"$tree/install.sh" --prefix "$prefix" --no-systemd > /dev/null
[[ ! -e $prefix/bin/of-an-older-version ]] || fail "what an older version had is still there"
grep -qx "ExecStart=$prefix/sbin/gpreemptd" "$prefix/lib/systemd/system/gpreemptd.service"
(cd "$tree" && find bin sbin lib libexec include share ! -type d) | while read -r path; do
  [[ $path == *.service ]] || cmp -s "$tree/$path" "$prefix/$path" || fail "$path differs"
done
[[ $(agent_by "$prefix/bin/gpreempt") == "$prefix/lib/gpreempt/libgpreempt_agent.so" ]]

# Removed: what was there before stays.
"$tree/install.sh" --prefix "$prefix" --uninstall > /dev/null
(cd "$prefix" && find . | sort | paste -sd ' ') > "$scratch/left"
[[ $(< "$scratch/left") == ". ./bin ./bin/somebody-elses ./etc ./etc/mine ./share ./share/man" ]] ||
  fail "left after --uninstall: $(< "$scratch/left")"

# What cannot be is refused.
refused 1 'nothing was installed' "$tree/install.sh" --prefix "$prefix" --uninstall
refused 2 'unknown option --prefic' "$tree/install.sh" --prefic "$prefix"
refused 2 '--prefix needs a folder' "$tree/install.sh" --prefix
refused 1 'the folder of the archive' "$tree/install.sh" --prefix "$tree"
touch "$prefix/bin/gpreempt"
refused 1 'not from this archive' "$tree/install.sh" --prefix "$prefix"
refused 1 'cannot be made' "$tree/install.sh" --prefix /proc/nowhere
