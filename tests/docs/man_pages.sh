#!/bin/bash
# man_pages.sh FOLDER: groff and man have nothing to say against the pages there, and no page shows
# quotation marks doubled, which is what comes of quoting an argument in its middle.
set -u -o pipefail
cd "$1"

if ! command -v groff > /dev/null; then
  echo "skipped: groff is not installed"
  exit 77
fi

status=0
complain() {
  status=1
  printf '%s\n' "$1"
}
for page in *.[1-8]; do
  warnings=$(groff -ww -man -Tutf8 -z "$page" 2>&1) || true
  [[ -z $warnings ]] || complain "$warnings"
  shown=$(groff -man -Tascii "$page" 2> /dev/null)
  if grep -n '""' <<< "$shown"; then complain "$page: quotation marks are doubled"; fi
  # Pages found by man must also name each other rightly: gpreemptd(8) is gpreemptd.8.
  while read -r name section; do
    [[ -e $name.$section ]] || complain "$page: there is no $name($section)"
  done < <(sed -nE 's/^\.BR (gpreempt[a-z]*|vgpud?) \(([1-8])\).*/\1 \2/p' "$page")
done
if command -v man > /dev/null; then
  for page in *.[1-8]; do
    warnings=$(MANWIDTH=80 man --warnings -l "$page" 2>&1 > /dev/null) || true
    [[ -z $warnings ]] || complain "$warnings"
  done
fi
exit $status
