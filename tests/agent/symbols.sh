#!/bin/sh
# The agent lives in other people's processes: it may show nothing but the two functions that ROCr
# calls.
set -eu
shown=$(nm -D --defined-only "$1" | awk '{print $3}' | sort | tr '\n' ' ')
if [ "$shown" != "OnLoad OnUnload " ]; then
  echo "$1 shows: $shown"
  exit 1
fi
