#!/bin/sh
# Installs gpreempt from the folder this file lies in, and removes it again.
set -eu

usage() {
  cat << 'END'
usage: ./install.sh [--prefix FOLDER] [--no-systemd] [--uninstall]

  --prefix FOLDER   where to (default: /usr/local). A folder of yours needs no root.
  --no-systemd      no unit for systemd, even where it could be had
  --uninstall       remove from FOLDER what was installed there, and nothing else

Nothing has to be installed: bin/gpreempt works from here. A second run brings the installation up
to date. The daemon is not started, and /etc/gpreempt is left alone.

Exit status: 0; 1 if something went wrong; 2 for wrong usage.
END
}

fail() {
  echo "install.sh: $1" >&2
  [ -z "${2:-}" ] || echo "hint: $2" >&2
  exit "${3:-1}"
}

prefix=/usr/local uninstall='' systemd=yes
while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -gt 1 ] || fail "--prefix needs a folder" "./install.sh --help" 2
      prefix=$2
      shift
      ;;
    --prefix=*) prefix=${1#*=} ;;
    --no-systemd) systemd='' ;;
    --uninstall) uninstall=yes ;;
    --help | -h) usage; exit 0 ;;
    *) fail "unknown option $1" "./install.sh --help" 2 ;;
  esac
  shift
done
case $prefix in
  '') fail "--prefix needs a folder" "./install.sh --help" 2 ;;
  /*) ;;
  *) prefix=$(pwd)/$prefix ;;
esac
[ "$prefix" = / ] || prefix=${prefix%/}
case $prefix in *[!A-Za-z0-9._/+@~-]*)
  fail "$prefix: only letters, digits and . _ / + @ ~ - can be in the name" "--prefix another folder" 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
manifest=$prefix/lib/gpreempt/installed-files  # relative to the prefix; folders end in /
unit=lib/systemd/system/gpreemptd.service
unit_link=/etc/systemd/system/gpreemptd.service

is_root() { [ "$(id -u)" -eq 0 ]; }
has_systemd() { [ -n "$systemd" ] && is_root && [ -d /run/systemd/system ] && command -v systemctl > /dev/null; }
# systemd itself looks below these two.
is_known_to_systemd() { [ "$prefix" = /usr ] || [ "$prefix" = /usr/local ]; }

# Removes what the list on stdin names, folders last and only if they are empty.
remove() {
  sort -r | while read -r path; do
    case $path in
      '' | /* | *..*) ;;
      */) rmdir "$prefix/$path" 2> /dev/null || true ;;
      *) rm -f "$prefix/$path" ;;
    esac
  done
}

if [ -n "$uninstall" ]; then
  [ -f "$manifest" ] || fail "nothing was installed in $prefix ($manifest is not there)" "--prefix the folder it was"
  [ -w "$prefix" ] || fail "$prefix cannot be written" "as root, or with sudo"
  if has_systemd && { is_known_to_systemd || [ "$(readlink "$unit_link")" = "$prefix/$unit" ]; }; then
    systemctl disable --now gpreemptd.service > /dev/null 2>&1 || true
    is_known_to_systemd || rm -f "$unit_link"
  fi
  list=$(cat "$manifest")
  printf '%s\n' "$list" | remove
  if has_systemd; then systemctl daemon-reload; fi
  if is_root && is_known_to_systemd && command -v ldconfig > /dev/null; then ldconfig; fi
  echo "gpreempt is removed from $prefix."
  exit 0
fi

[ -x "$here/bin/gpreempt" ] || fail "bin/gpreempt is not beside this file" "unpack the whole archive"
"$here/bin/gpreempt" version > /dev/null ||
  fail "the programs do not run on this system" "they need an x86-64 Linux with glibc 2.28 or newer"
[ "$here" != "$prefix" ] || fail "$prefix is the folder of the archive itself" "it works from there as it is"

cd "$here"
files=$(find bin sbin lib libexec include share ! -type d | sort)
old=''
[ ! -f "$manifest" ] || old=$(cat "$manifest")

# Nobody else's files are replaced.
for path in $files; do
  [ -e "$prefix/$path" ] || [ -L "$prefix/$path" ] || continue
  printf '%s\n' "$old" | grep -qxF "$path" ||
    fail "$prefix/$path is there already, and not from this archive" \
      "remove what installed it (a package, make install), or --prefix another folder"
done

# A folder that did not exist is ours to remove, and was if it is on the list.
folders=''
make_folder() {
  [ ! -d "$prefix/$1" ] || return 0
  case $1 in */*) make_folder "${1%/*}" ;; esac
  mkdir "$prefix/$1" || fail "$prefix/$1 cannot be made" "as root, or --prefix a folder of yours"
  folders="$folders$1/
"
}
mkdir -p "$prefix" || fail "$prefix cannot be made" "as root, or --prefix a folder of yours"
[ -w "$prefix" ] || fail "$prefix cannot be written" "as root, or --prefix a folder of yours"

# The list comes first: an installation that is interrupted can be removed as well.
make_folder lib/gpreempt
for path in $files; do make_folder "${path%/*}"; done
{
  printf '%s\n' "$files" lib/gpreempt/installed-files
  printf '%s' "$folders"
  printf '%s\n' "$old" | grep '/$' || true
} | sort -u > "$manifest.new"
mv -f "$manifest.new" "$manifest"

# By renaming, so that a program that runs keeps its own.
for path in $files; do
  rm -f "$prefix/$path.new"
  if [ "$path" = "$unit" ]; then
    sed "s|^ExecStart=.*|ExecStart=$prefix/sbin/gpreemptd|" "$path" > "$prefix/$path.new"
  else
    cp -P -p "$path" "$prefix/$path.new"
  fi
  ! is_root || chown -h 0:0 "$prefix/$path.new"
  mv -f "$prefix/$path.new" "$prefix/$path"
done
# What an older version had and this one has not.
printf '%s\n' "$old" | grep -v '/$' | grep -vxF -e "$files" -e lib/gpreempt/installed-files | remove || true

echo "gpreempt $("$prefix/bin/gpreempt" version | sed 's/^gpreempt //') is in $prefix."
if has_systemd; then
  if ! is_known_to_systemd; then
    if [ -e "$unit_link" ] && [ "$(readlink "$unit_link")" != "$prefix/$unit" ]; then
      fail "all is installed, but $unit_link is somebody else's" "remove it, or --no-systemd"
    fi
    ln -sf "$prefix/$unit" "$unit_link"
  fi
  systemctl daemon-reload
  if systemctl is-active --quiet gpreemptd.service; then
    echo "gpreemptd runs the version before; systemctl restart gpreemptd starts this one."
  else
    echo "systemd knows the daemon: systemctl enable --now gpreemptd starts it, now and at boot."
  fi
else
  echo "The daemon is not known to systemd (that takes root, and systemd): $prefix/sbin/gpreemptd starts it."
fi
if is_root && is_known_to_systemd && command -v ldconfig > /dev/null; then ldconfig; fi
if ! { command -v ldconfig && ldconfig -p | grep -qF " $prefix/lib/libgpreempt.so.0"; } > /dev/null 2>&1; then
  echo "Programs that use the library find it by LD_LIBRARY_PATH=$prefix/lib."
fi
case :$PATH: in *:"$prefix/bin":*) ;; *) echo "$prefix/bin is not in your PATH." ;; esac
