#!/bin/sh
# The version is that of include/petscbai.h wherever else it must stand, and its day that of CHANGELOG.md: run by
# make checkdocs
set -eu
version=$(awk '/define PETSCBAI_VERSION_/ { v = v s $3; s = "." } END { print v }' include/petscbai.h)
day=$(sed -n "s/^## \[$version\] - //p" CHANGELOG.md)
wrong=0
while read -r file line; do
  line=$(printf '%s\n' "$line" | sed "s/@/$version/g")
  grep -qF -e "$line" "$file" || { echo "$file: no \"$line\", the version of include/petscbai.h"; wrong=1; }
done <<END
CITATION.cff version: @
CITATION.cff date-released: $day
debian/changelog petsc-bai (@)
debian/changelog $(LC_ALL=C date -d "${day:-1970-01-01}" '+%a, %d %b %Y')
CHANGELOG.md ## [@]
packaging/petsc/petscbai.py self.version          = '@'
packaging/spack/spack_repo/petscbai/packages/petsc_bai/package.py version("@", tag="v@")
END
[ $wrong = 1 ] || echo "version $version wherever it stands"
exit $wrong
