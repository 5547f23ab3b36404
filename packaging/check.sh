#!/usr/bin/env bash
# Holds packages against lintian and rpmlint, and their scripts against shellcheck; then shows what was built.
#
# Usage: check.sh PACKAGE..    what lintian or rpmlint says is left beside the package, as PACKAGE.lint
set -euo pipefail
here=$(dirname "$0")

# Whatever they say is a failure. What is silenced stands with its reason in deb/lintian-overrides and rpm/rpmlint.toml.
lint() {
  case $1 in
    *.deb) lintian --allow-root --no-cfg --profile debian --display-info --fail-on error,warning,info "$1" ;;
    *.rpm) rpmlint --strict --config "$here/rpm/rpmlint.toml" "$1" ;;
  esac
}

unpack() {
  case $1 in
    *.deb) dpkg-deb --extract "$1" "$2" ;;
    # rpm2cpio's exit status compares with a size that cargo-generate-rpm does not write; cpio notices a short archive.
    *.rpm) { rpm2cpio "$1" || true; } | cpio --extract --make-directories --quiet --directory "$2" ;;
  esac
}

architecture() {
  case $1 in
    *.deb) dpkg-deb --field "$1" Architecture ;;
    *.rpm) rpm --query --package --queryformat '%{ARCH}' "$1" ;;
  esac
}

shellcheck "$here"/*.sh "$here/deb/postrm"
shellcheck --shell=sh "$here"/rpm/*.sh
echo 'shellcheck: nothing to say'

for package in "$@"; do
  case $package in *.deb) linter=lintian ;; *) linter=rpmlint ;; esac
  if ! lint "$package" >"$package.lint" 2>&1; then
    cat "$package.lint" >&2
    echo "$linter complains about $package: mend it, or silence it with a reason (see $0)" >&2
    exit 1
  fi
  printf '%s: nothing to say about %s\n' "$linter" "$(basename "$package")"
done

unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
format='%-32s %8s  %-8s  %s\n'
# shellcheck disable=SC2059 # the format is the line above
printf "\n$format" package size for 'newest glibc that the programs ask for'
for package in "$@"; do
  root=$unpacked/$(basename "$package")
  mkdir "$root"
  unpack "$package" "$root"
  glibc=$("$here/glibc.sh" "$root"/usr/bin/* | sed 's/  */ /' | paste -sd, | sed 's/,/, /g')
  # shellcheck disable=SC2059 # as above
  printf "$format" "$(basename "$package")" "$(stat --format %s "$package" | numfmt --to=si)" "$(architecture "$package")" "$glibc"
done
