#!/usr/bin/env bash
# Builds packaging/Containerfile as it is, without a registry: the images that it names are made here, from the Debian
# packages that they consist of.
#
# Usage, as root: image.sh DIRECTORY PACKAGES    leaves DIRECTORY/image.json, DIRECTORY/root, the image's tree, and
#                                       DIRECTORY/base, that of its base; needs target/packages/efsmon_*.deb
set -euo pipefail
cd "$(dirname "$0")/../.."

directory=${1:?usage: image.sh DIRECTORY PACKAGES} packages=$2
mkdir -p "$directory"
buildah() { command buildah --root "$directory/storage" --runroot "$directory/run" --storage-driver vfs "$@"; }

stand_in() { # NAME PACKAGES
  buildah inspect --type image "$1" >/dev/null 2>&1 && return
  echo "making a stand-in for $1 (half a minute, once)"
  local container
  container=$(buildah from scratch)
  mmdebstrap --quiet --mode=root --variant=extract --include="$2" trixie "$directory/stand-in.tar" 2>"$directory/log" ||
    { cat "$directory/log" >&2; return 1; }
  buildah add --quiet "$container" "$directory/stand-in.tar" / >/dev/null
  buildah commit --quiet --rm "$container" "$1" >/dev/null
  rm "$directory/stand-in.tar"
}

tree() { # IMAGE DIRECTORY
  local container
  container=$(buildah from --pull-never "$1")
  rm -rf "$2"
  cp --archive "$(buildah mount "$container")" "$2"
  buildah rm "$container" >/dev/null
}

base=gcr.io/distroless/base-nossl-debian13:latest
stand_in docker.io/library/debian:13-slim base-files,dash,dpkg,tar
stand_in "$base" base-files,netbase,tzdata,libc6,ca-certificates

architecture=$(dpkg --print-architecture)
rm -rf "$directory/context"
mkdir "$directory/context"
newest=$(find "$packages" -name "efsmon_*_$architecture.deb" -printf '%T@ %p\n' | sort -n | sed -n '$s/^[^ ]* //p')
cp "$newest" "$directory/context"
buildah bud --quiet --isolation chroot --pull-never --platform "linux/$architecture" --file packaging/Containerfile \
  --tag efsmon "$directory/context" >"$directory/log" 2>&1 || { cat "$directory/log" >&2; exit 1; }
buildah inspect --type image efsmon >"$directory/image.json"
tree "$base" "$directory/base"
tree efsmon "$directory/root"
