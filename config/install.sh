#!/bin/sh
# Installs the library, its headers and its pkg-config file: config/install.sh LIBRARY VERSION REQUIRES
#
#   PREFIX   where it is to be used (/usr/local); a relative one is below this folder
#   DESTDIR  put before that, for packages ()
set -eu
library=$1 version=$2 requires=$3
prefix=$(realpath -ms -- "${PREFIX:-/usr/local}")
to=${DESTDIR:-}$prefix

install -d -- "$to/lib/pkgconfig" "$to/include"
install -m 755 -- "$library" "$to/lib"
install -m 644 -- include/*.h "$to/include"
escaped=$(printf '%s\n' "$prefix" | sed 's/[\\|&]/\\&/g')
sed -e "s|@prefix@|$escaped|" -e "s|@version@|$version|" -e "s|@requires@|$requires|" \
  config/petscbai.pc.in >"$to/lib/pkgconfig/petscbai.pc"
echo "installed in $to: lib/$(basename "$library"), lib/pkgconfig/petscbai.pc, include/petscbai.h"
