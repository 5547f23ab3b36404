#!/usr/bin/env bash
# Builds a package of efsmon: programs for glibc 2.17, man pages and the rest, then the package itself.
#
# Usage: package.sh deb|rpm ARCH    x86_64 or aarch64; the package is left in target/packages
# Needs cargo-zigbuild and cargo-deb or cargo-generate-rpm on PATH: `make package` brings them.
set -euo pipefail
cd "$(dirname "$0")/.."

format=$1 arch=$2
target=$arch-unknown-linux-gnu
built=${CARGO_TARGET_DIR:-target}

echo "building efsmon for $arch and glibc 2.17 (some minutes the first time)"
rustc=$(packaging/compiler.sh "$arch")
RUSTC=$rustc cargo zigbuild --quiet --release --locked --target "$target.2.17" --bin efsmon --bin efsmond
cargo run --quiet --locked --example assets -- "$built/assets"
mkdir -p "$built/packages"
case $format in
  deb) cargo deb --quiet --no-build --no-strip --locked --target "$target" --output "$built/packages/" ;;
  rpm) cargo generate-rpm --target "$target" --payload-compress gzip --output "$built/packages/" ;;
esac
