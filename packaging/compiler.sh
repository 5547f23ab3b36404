#!/usr/bin/env bash
# Prints the compiler that builds programs for ARCH: rustc where it has the standard library for it or rustup can fetch
# that, otherwise Debian's, which is unpacked under target/tools.
#
# Usage: compiler.sh ARCH    x86_64 or aarch64
set -euo pipefail
cd "$(dirname "$0")/.."

target=$1-unknown-linux-gnu
if [ -d "$(rustc --print target-libdir --target "$target")" ] || rustup --quiet target add "$target" 2>/dev/null; then
  echo rustc
  exit
fi

case $1 in aarch64) architecture=arm64 ;; *) echo "no standard library of Rust for $1" >&2; exit 1 ;; esac
directory=$PWD/target/tools/rustc-web
if [ ! -x "$directory/rustc" ]; then
  echo "rustup has no standard library for $1: unpacking Debian's compiler under target/tools (130 MB)" >&2
  # Debian's newest Rust is made for browsers, hence its name. The library for this machine is for build scripts.
  NEEDED='lib(std-rust-web-|llvm)[0-9.]+' packaging/unpack.sh "$directory" \
    rustc-web libstd-rust-web-dev "libstd-rust-web-dev:$architecture"
  # It has the libraries of LLVM beside it, not in the system.
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$directory/usr/lib/x86_64-linux-gnu" "$directory/usr/bin/rustc" \
    > "$directory/rustc"
  chmod +x "$directory/rustc"
fi
echo "$directory/rustc"
