#!/bin/sh
# Builds the documents as pages, build/pages/index.html, and checks CITATION.cff: make docs
#
# A warning is an error: a link that leads nowhere, a page that none leads to, a function without a manual page.
# What it needs (docs/pages/requirements.txt) is installed once, from PyPI, in ${XDG_CACHE_HOME:-~/.cache}/petsc-bai.
set -eu
cd "$(dirname "$0")/.."
say() { echo "docs.sh: $*" >&2; }

needs=docs/pages/requirements.txt
cache=${XDG_CACHE_HOME:-$HOME/.cache}/petsc-bai
tools=$cache/docs-$(cksum <$needs | cut -d' ' -f1)
mkdir -p "$cache"
exec 9>"$tools.lock"
flock 9
if [ ! -f "$tools/complete" ]; then
  python3 -c 'import ensurepip' 2>/dev/null ||
    config/packages.sh 'make docs needs virtual environments of Python' python3 python3-venv
  say "make docs needs $(tr '\n' ' ' <$needs)"
  say "so pip installs these, and what they depend on, from PyPI into $tools"
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement $needs
  touch "$tools/complete"
fi
flock -u 9

"$tools/bin/cffconvert" --validate >/dev/null || { "$tools/bin/cffconvert" --validate; exit 1; }
python3 docs/pages/manualpages.py build/manualpages
rm -rf build/pages
"$tools/bin/sphinx-build" --quiet --fail-on-warning --keep-going -j auto \
  -c docs/pages -d build/pages-doctrees . build/pages
ln -s README.html build/pages/index.html
echo "$(find build/pages -name '*.html' | wc -l) pages: build/pages/index.html"
