#!/bin/sh
# Builds and tests, without CUDA where nothing else is said, in build folders of their own, and prints a line for each:
# make matrix
#
#   MATRIX  which of (all but the last three lines, which build a PETSc first)
#             real, complex, int64, complex-int64   Debian's PETSc 3.18 with these
#             sanitize, clang, noopenmp             it below gcc's sanitizers, by clang, without OpenMP
#             single                                a newer PETSc in single precision
#             release, 3.22.5                       a newer PETSc, or this one of its releases
#             cuda-complex, cuda-int64              a newer PETSc with CUDA; tests of the GPU run if there is one
#   T       which tests, a pattern of grep (all)
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
unset MAKEFLAGS MFLAGS MAKELEVEL PETSC_DIR PETSC_ARCH
mkdir -p build/matrix

run()
{
  name=$1 petsc=$2; shift 2
  start=$(date +%s) log=build/matrix/$name.log
  if dir=$("$here/petsc.sh" "$petsc" "make matrix tests $name"); then
    echo "matrix.sh: $name, with the PETSc in $dir: building and testing" >&2
    make $nvcc PETSC_DIR="$dir" ARCH="matrix-$name" "$@" test >"$log" 2>&1
    status=$?
  else
    status=1
  fi
  summary=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
  echo "$name: ${summary:-did not build} ($(($(date +%s) - start)) s, $log)"
  # each failure once, with the lines by which the output differs
  awk '/^ *not ok/ { shown = !seen[$0]++ } /^ *ok|^[0-9]/ { shown = 0 } shown' "$log" | head -n 60
  [ "$status" = 0 ] || failed=1
}

failed=0
for name in $MATRIX; do
  nvcc=NVCC=
  case $name in
  cuda-*) nvcc= ;;
  esac
  case $name in
  real) run real debian ;;
  complex | int64 | complex-int64 | single | release | cuda-complex | cuda-int64) run "$name" "$name" ;;
  3.*) PETSC_VERSION=$name run "$name" release ;;
  sanitize) run sanitize debian SANITIZE=1 ;;
  noopenmp) run noopenmp debian OPENMP= ;;
  clang)
    "$here/packages.sh" 'make matrix tests clang' clang libomp-dev || exit 1
    OMPI_CC=clang run clang debian
    ;;
  *)
    echo "MATRIX has no $name: real, complex, int64, complex-int64, single, release, 3.MINOR.PATCH, cuda-complex," \
      "cuda-int64, sanitize, clang, noopenmp"
    exit 2
    ;;
  esac
done
exit $failed
