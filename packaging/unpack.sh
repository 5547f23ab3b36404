#!/usr/bin/env bash
# Unpacks Debian packages, also of other architectures, into a directory. Nothing is installed, and what the system's
# apt and dpkg know stays as it is: no root, no foreign architecture.
#
# Usage: unpack.sh DIRECTORY PACKAGE[:ARCHITECTURE]..    makes DIRECTORY, or nothing
#   NEEDED=REGEX    unpacks those too, of all that the packages need, whose whole name matches
set -euo pipefail

directory=${1:?usage: unpack.sh DIRECTORY PACKAGE..}
shift
unfinished=$(realpath --canonicalize-missing "$directory").unfinished
trap 'rm -rf "$unfinished"' EXIT
rm -rf "$unfinished"
mkdir -p "$unfinished"/apt/{lists/partial,cache/archives/partial,debs}

# An apt beside the system's, with the same sources. Without a status file it takes nothing for installed.
export APT_CONFIG=$unfinished/apt/conf
cat > "$APT_CONFIG" <<APT
APT::Architectures "amd64,arm64";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State::Lists "$unfinished/apt/lists";
Dir::State::Status "/dev/null";
Dir::Cache "$unfinished/apt/cache";
Dir::Etc::PkgCacheFile "";
APT
# A source that fails matters only when a package is missing, and then the download says so.
apt-get -qq update 2>/dev/null || true

packages=("$@")
if [ -n "${NEEDED:-}" ]; then
  needed=$(apt-cache depends --recurse --important "${packages[@]}")
  mapfile -t -O "${#packages[@]}" packages < <(grep --extended-regexp --line-regexp "$NEEDED" <<< "$needed" | sort --unique)
fi
(cd "$unfinished/apt/debs" && apt-get -qq download "${packages[@]}")
for package in "$unfinished"/apt/debs/*.deb; do dpkg --extract "$package" "$unfinished"; done
rm -rf "$unfinished/apt" "$directory"
mv "$unfinished" "$directory"
