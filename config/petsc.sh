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
#   PETSC_LIBRARY=.../libpetsc.so.3.25 config/petsc.sh headers [WHY]  the headers of a PETSc that has none, as in
#                                          wheels: those of PyPI's source, configured as it was (a minute)
#
# Each says first what it installs, and why.
# What is built is kept in ${XDG_CACHE_HOME:-~/.cache}/petsc-bai, one folder per version and options.
#   PETSC_VERSION  version to build (3.26.1); release takes one with CUDA if that is there already
#   CUDA_HOME      CUDA toolkit (the one nvcc in PATH belongs to, else /usr/local/cuda)
#   CUDA_ARCH      compute capability without the dot (that of the GPU here, else 90)
#   MAKE_NP        processes to build with (all)
#   MPICC          for headers: compiler of the MPI of PETSC_LIBRARY (mpicc)
#   PIP            what downloads from PyPI (pip)
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

# The sources of this version from PyPI, which become the current folder
unpacked()
{
  rm -rf "$src" "$prefix"
  mkdir -p "$src"
  logged "petsc $version: download" "$src/download.log" 8 \
    ${PIP:-pip} download --no-deps --no-binary petsc -d "$src" "petsc==$version"
  tar -xzf "$src/petsc-$version.tar.gz" -C "$src"
  cd "$src/petsc-$version"
  unset PETSC_DIR PETSC_ARCH MAKEFLAGS MFLAGS MAKELEVEL
}

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
    unpacked
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

# What the library itself says decides how its headers are configured; afterwards they must say the same
headers()
{
  library=${PETSC_LIBRARY:?names the library of the PETSc whose headers are wanted} mpicc=${MPICC:-mpicc}
  mpicc=$(command -v "$mpicc") ||
    die "the PETSc of $library has no headers, and MPICC=$mpicc is no compiler to configure them with: set MPICC"
  ask=$(mktemp -d)
  trap 'rm -rf "$ask"' EXIT
  cat >"$ask/ask.c" <<'ASK'
#include <mpi.h>
#include <stdio.h>
#ifdef HEADERS
  #include <petscsys.h>
#else
int PetscGetVersionNumber(int *, int *, int *, int *);
int PetscDataTypeFromString(const char *, int *, int *);
int PetscDataTypeGetSize(int, size_t *);
#endif

int main(void)
{
  int         v[4];
  size_t      size[3];
#ifdef HEADERS
  size[0] = sizeof(PetscScalar), size[1] = sizeof(PetscReal), size[2] = sizeof(PetscInt);
  v[0] = PETSC_VERSION_MAJOR, v[1] = PETSC_VERSION_MINOR, v[2] = PETSC_VERSION_SUBMINOR;
#else
  const char *names[] = {"Scalar", "Real", "Int"};
  PetscGetVersionNumber(&v[0], &v[1], &v[2], &v[3]);
  for (int k = 0; k < 3; k++) {
    int type = 0, known = 0;

    PetscDataTypeFromString(names[k], &type, &known);
    PetscDataTypeGetSize(type, &size[k]);
  }
#endif
  MPI_Initialized(&v[3]);
  return printf("%d.%d.%d %zu %zu %zu\n", v[0], v[1], v[2], size[0], size[1], size[2]) < 0;
}
ASK
  "$mpicc" "$ask/ask.c" "$library" -Wl,--allow-shlib-undefined,-rpath,"$(dirname "$library")" -o "$ask/ask" >&2 ||
    die "$mpicc cannot link with $library: set MPICC to the compiler of the MPI of this PETSc"
  [ "$(needed_mpi "$ask/ask")" = "$(needed_mpi "$library")" ] ||
    die "$library is for $(needed_mpi "$library"), and $mpicc for $(needed_mpi "$ask/ask"):" \
      "set MPICC to the compiler of the MPI of this PETSc"
  said=$("$ask/ask") || die "$library does not say what PETSc it is: set PETSC_DIR to one that has headers"
  ! nm -D --defined-only "$library" | grep -qE ' (VecCreateSeq(CUDA|HIP|Kokkos|ViennaCL)|PetscObjectSAWsBlock)$' ||
    die "$library is a PETSc for GPUs or with SAWs, whose structs are not those of one without:" \
      "set PETSC_DIR to one that has headers"
  version=${said%% *}
  case ${said#* } in
  "8 8 "*) scalar=real real=double ;;
  "16 8 "*) scalar=complex real=double ;;
  "4 4 "*) scalar=real real=single ;;
  "8 4 "*) scalar=complex real=single ;;
  *) die "$library has scalars and real numbers of $said bytes: they must be of single or double precision" ;;
  esac
  indices=0; [ "${said##* }" = 4 ] || indices=1
  blas=$(ldd "$library" | sed -n '/scalapack/d; s/.* => \([^ ]*\(blas\|lapack\|mkl\)[^ /]*\) .*/\1/p' | paste -sd,)
  set -- --with-cc="$mpicc" --with-cxx=0 --with-fc=0 --with-debugging=0 --with-x=0 --with-ssl=0 \
    --with-scalar-type="$scalar" --with-precision="$real" --with-64-bit-indices="$indices" \
    ${blas:+"--with-blaslapack-lib=[$blas]"}
  key=$(printf '%s\n' "$@" "$library" | cksum | cut -d' ' -f1)
  prefix=$cache/petsc-$version-headers-$key
  alone "$version-$key"
  if [ ! -f "$prefix/complete" ]; then
    src=$cache/build-$version-$key
    say "$why"
    say "so the sources of PETSc $version are downloaded from PyPI (by pip) and configured with $mpicc:" \
      "its headers are kept in $prefix"
    unpacked
    logged "petsc $version: configure" "$src/configure.log" 60 ./configure --prefix="$prefix" "$@"
    mkdir -p "$prefix/lib/pkgconfig"
    cp -r include "$prefix"
    cp -r arch-*/include "$prefix"
    sed "s|^libdir=.*|libdir=$(dirname "$library")|; s|^Libs: .*|Libs: -L\${libdir} -l:$(basename "$library")|
      s|^Cflags: .*|Cflags: -I\${includedir}|" arch-*/lib/pkgconfig/petsc.pc >"$prefix/lib/pkgconfig/petsc.pc"
    "$mpicc" -DHEADERS -I"$prefix/include" "$ask/ask.c" -o "$ask/configured" >&2
    configured=$("$ask/configured")
    [ "$configured" = "$said" ] ||
      die "version, and bytes of scalars, real numbers and indices, are $said of $library" \
        "and $configured of its headers: set PETSC_DIR to a PETSc that has headers"
    touch "$prefix/complete"
    cd "$cache"
    rm -rf "$src"
  fi
  echo "$prefix"
}
needed_mpi() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(libmpi\(ch\)\?\.so[^]]*\)\].*/\1/p'; }

case ${1:-} in
debian | cuda | complex | int64 | release | single | headers) "$1" ;;
complex-int64 | cuda-complex | cuda-int64) "$(echo "$1" | tr - _)" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
