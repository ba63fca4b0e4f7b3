#!/bin/sh
# Installs those of some Debian packages that are missing, and says so first: config/packages.sh WHY PACKAGE ...
set -eu

say() { echo "packages.sh: $*" >&2; }
die() { say "$*"; exit 1; }

why=$1; shift
missing=
for p; do dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"; done
[ -n "$missing" ] || exit 0
say "$why"
command -v apt-get >/dev/null || die "needed:$missing. There is no apt-get to install them with"
sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
say "so apt-get${sudo:+, by sudo,} installs these packages and what they depend on," \
  "from the sources that this machine has:"
say "  $missing"
$sudo apt-get update -qq >&2 || die "apt-get could not get the lists of packages"
plan=$(LC_ALL=C apt-get install --assume-no $missing 2>/dev/null || true)
from=$(LC_ALL=C apt-get install -s $missing 2>/dev/null |
  sed -n 's/^Inst [^(]*([^ ]* \([^ ,]*\).*/\1/p' | sort | uniq -c |
  awk '{printf "%s%d from %s", (NR > 1 ? ", " : ""), $1, $2}')
say "packages: ${from:-none found}. $(printf '%s\n' "$plan" | grep -E '^(Need to get|After this)' | tr '\n' ' ')"
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
  -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 $missing >&2 || die "apt-get could not install$missing"
