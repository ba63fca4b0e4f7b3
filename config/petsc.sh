#!/bin/sh
# Gets a PETSc to build petsc-bai with, and prints its PETSC_DIR as the last line on stdout
#
#   config/petsc.sh debian [WHY]   Debian's packages: PETSc, its test harness, Open MPI, compilers (seconds)
#   config/petsc.sh cuda [WHY]     PETSc with CUDA, built from PyPI's source package (minutes, once)
#   config/petsc.sh cuda-complex, cuda-int64 [WHY]  that one with complex scalars, or with 64-bit indices
#   config/petsc.sh complex, int64, complex-int64 [WHY]  Debian's PETSc with complex scalars, 64-bit indices, or both
#                                                        (seconds)
#   config/petsc.sh release, single [WHY]  a release of PETSc without CUDA, in double or in single precision, built
#                                          likewise
#
# Each says first what it installs, and why.
# What is built is kept in ${XDG_CACHE_HOME:-~/.cache}/petsc-bai, one folder per version and options.
#   PETSC_VERSION  version to build (3.26.1); release takes one with CUDA if that is there already
#   CUDA_HOME      CUDA toolkit (the one nvcc in PATH belongs to, else /usr/local/cuda)
#   CUDA_ARCH      compute capability without the dot (that of the GPU here, else 90)
#   MAKE_NP        processes to build with (all)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
why=${2:-"config/petsc.sh ${1:-} was asked for"}
. "$here/common.sh"

debian()
{
  install_packages make gcc g++ python3 pkg-config petsc-dev libpetsc3.18-dev-examples libopenmpi-dev openmpi-bin
  echo /usr/lib/petsc
}

# Beside debian's, which pkg-config goes on finding
complex()
{
  debian >/dev/null
  install_packages libpetsc-complex3.18-dev
  echo /usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-complex
}

int64()
{
  debian >/dev/null
  install_packages libpetsc64-real3.18-dev
  echo /usr/lib/petscdir/petsc64-3.18/x86_64-linux-gnu-real
}

complex_int64()
{
  debian >/dev/null
  install_packages libpetsc64-complex3.18-dev
  echo /usr/lib/petscdir/petsc64-3.18/x86_64-linux-gnu-complex
}

version=${PETSC_VERSION:-3.26.1}

# build KIND WITH COMPILER OPTION ...: PETSc as configure makes it with these options, unless the cache has it
build()
{
  kind=$1 with=$2 compiler=$3; shift 3
  key=$(printf '%s\n' "$@" "$compiler" | cksum | cut -d' ' -f1)
  prefix=$cache/petsc-$version-$kind-$key
  alone "$version-$key"
  if [ ! -f "$prefix/complete" ]; then
    install_packages make gcc g++ python3 python3-pip pkg-config \
      libopenmpi-dev openmpi-bin libopenblas-dev liblapack-dev
    src=$cache/build-$version-$key
    say "$why"
    say "so PETSc $version is downloaded from PyPI (by pip) and built with $with, into $prefix:" \
      "about 15 minutes on two cores"
    rm -rf "$src" "$prefix"
    mkdir -p "$src"
    logged "petsc $version: download" "$src/download.log" 8 \
      pip download --no-deps --no-binary petsc -d "$src" "petsc==$version"
    tar -xzf "$src/petsc-$version.tar.gz" -C "$src"
    cd "$src/petsc-$version"
    unset PETSC_DIR PETSC_ARCH MAKEFLAGS MFLAGS MAKELEVEL
    logged "petsc $version: configure" "$src/configure.log" 60 ./configure --prefix="$prefix" "$@"
    export PETSC_DIR="$PWD" PETSC_ARCH="$(ls -d arch-*)"
    logged "petsc $version: make" "$src/make.log" 1200 make MAKE_NP="${MAKE_NP:-$(nproc)}" all
    logged "petsc $version: install" "$src/install.log" 30 make install
    touch "$prefix/complete"
    cd "$cache"
    rm -rf "$src"
  fi
  echo "$prefix"
}

# with_cuda KIND WITH OPTION ...
with_cuda()
{
  kind=$1 what=$2; shift 2
  find_cuda
  build "$kind" "$CUDA_HOME$what" "$("$CUDA_HOME/bin/nvcc" --version | tail -n 1)" \
    --with-debugging=0 --with-cuda --with-cuda-dir="$CUDA_HOME" --with-cuda-arch="$arch" --with-fc=0 \
    --with-mpi-dir=/usr --with-shared-libraries --with-x=0 --with-ssl=0 \
    COPTFLAGS='-O3 -g0' CXXOPTFLAGS='-O3 -g0' CUDAOPTFLAGS=-O3 "$@"
}
cuda() { with_cuda cuda ''; }
cuda_complex() { with_cuda complex-cuda ', complex scalars' --with-scalar-type=complex; }
cuda_int64() { with_cuda int64-cuda ', 64-bit indices' --with-64-bit-indices; }

# For tests: quick to build, and slower than PETSc could be
host()
{
  build "$@" '' --with-debugging=0 --with-fc=0 --with-cxx=0 --with-mpi-dir=/usr --with-shared-libraries \
    --with-x=0 --with-ssl=0 --with-precision="$1" COPTFLAGS='-O1 -g0'
}

release()
{
  for built in "$cache/petsc-$version-cuda"-*/complete; do
    [ ! -f "$built" ] || { dirname "$built"; return; }
  done
  host double 'the C compiler'
}

single() { host single 'the C compiler, in single precision'; }

case ${1:-} in
debian | cuda | complex | int64 | release | single) "$1" ;;
complex-int64 | cuda-complex | cuda-int64) "$(echo "$1" | tr - _)" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
