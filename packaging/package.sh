#!/usr/bin/env bash
# Builds packages of efsmon: programs for glibc 2.17, man pages and the rest, then the packages themselves.
#
# Usage: package.sh ARCH FORMAT..    x86_64 or aarch64; deb, rpm; they are left in target/packages
# Needs cargo-zigbuild, and cargo-deb or cargo-generate-rpm and rpm, on PATH: `make package` brings them.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

arch=$1
shift
target=$arch-unknown-linux-gnu
built=${CARGO_TARGET_DIR:-target}
programs=$built/$target/release
assets=$programs/assets
packages=$built/packages

version=$(cargo pkgid | sed 's/.*[#@]//')
# 0.2.0-rc.1 comes before 0.2.0 in both formats when it is spelled so.
version=${version/-/\~}

echo "building efsmon for $arch and glibc 2.17 (some minutes the first time)"
rustc=$(packaging/compiler.sh "$arch")
RUSTC=$rustc cargo zigbuild --quiet --release --locked --target "$target.2.17" --bin efsmon --bin efsmond
packaging/glibc.sh "$programs/efsmon" "$programs/efsmond" >/dev/null

cargo build --quiet --locked --example assets

# The same commit makes the same package. Not before: with each other date cargo builds all anew.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
rm -rf "$assets"
"$built/debug/examples/assets" "$assets"
gzip -9n "$assets"/man/*
mkdir -p "$assets/doc" "$packages"
python3 packaging/notices.py "$target" | gzip -9n >"$assets/doc/third-party-licences.gz"
gzip -9nc CHANGELOG.md >"$assets/doc/changelog.gz"
gzip -9n >"$assets/doc/changelog.Debian.gz" <<end
efsmon ($version-1) unstable; urgency=medium

  * What is new stands in changelog.gz.

 -- The efsmon authors <efsmon@example.org>  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
end

# What cargo-deb leaves out: the sums that `dpkg --verify` compares with. And the user for systemd-sysusers: with that among
# its files (as it has any packaging/efsmon.sysusers), cargo-deb would have the package call the program, which not every
# system has.
complete() {
  local root
  root=$(mktemp -d)
  chmod 755 "$root"
  dpkg-deb --raw-extract "$1" "$root"
  install -D --mode 644 packaging/sysusers.conf "$root/usr/lib/sysusers.d/efsmon.conf"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  dpkg-deb --root-owner-group -Zxz --build "$root" "$1" >/dev/null
  rm -r "$root"
}

# What installs or tests packages takes what is there: one version of each.
for format in "$@"; do
  case $format in
    deb)
      case $arch in x86_64) rm -f "$packages"/efsmon_*_amd64.deb* ;; aarch64) rm -f "$packages"/efsmon_*_arm64.deb* ;; esac
      complete "$(cargo deb --quiet --no-build --no-strip --fast --locked --target "$target" --output "$packages/")"
      ;;
    rpm)
      rm -f "$packages"/efsmon-*."$arch".rpm*
      # An rpm before 4.14 cannot read the usual zstd.
      cargo generate-rpm --target "$target" --set-metadata "version = '$version'" --auto-req find-requires \
        --payload-compress gzip --output "$packages/"
      ;;
  esac
done
