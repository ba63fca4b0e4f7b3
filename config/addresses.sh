#!/bin/sh
# The addresses of the repository and of its maintainers; packages repeat them
#   config/addresses.sh                    checks that the packages have these two
#   config/addresses.sh REPOSITORY MAIL    writes others into this file and into all that repeat them
set -eu
cd "$(dirname "$0")/.."
repository=https://example.org/petsc-bai
mail=petsc-bai@example.org

with_repository='packaging/petsc/petscbai.py packaging/petsc/doc.patch
  packaging/spack/spack_repo/petscbai/packages/petsc_bai/package.py'
with_mail='debian/control debian/changelog'
if [ $# = 2 ]; then
  sed -i "s|$repository|$1|g; s|$mail|$2|g" config/addresses.sh $with_repository $with_mail
  exit
fi
lack=$({ grep -LF "$repository" $with_repository; grep -LF "$mail" $with_mail; } || true)
[ -z "$lack" ] || { echo "without the address of config/addresses.sh:" $lack; exit 1; }
