#!/usr/bin/env bash
# Prints the newest version of glibc that each program asks for, and fails above 2.17, which every supported system has.
#
# Usage: glibc.sh PROGRAM..
set -euo pipefail
floor=2.17

for program in "$@"; do
  needed=$(LC_ALL=C readelf --version-info --wide "$program" | sed -n 's/.*Name: GLIBC_\([^ ]*\) .*/\1/p' | sort -V | tail -n 1)
  if [ -z "$needed" ]; then
    echo "$program: no version of glibc found in it: not a dynamically linked program?" >&2
    exit 1
  fi
  if [ "$(printf '%s\n' "$floor" "$needed" | sort -V | tail -n 1)" != "$floor" ]; then
    echo "$program: needs glibc $needed, and would not start where $floor is the newest: build it with packaging/package.sh" >&2
    exit 1
  fi
  printf '%-8s GLIBC_%s\n' "$(basename "$program")" "$needed"
done
