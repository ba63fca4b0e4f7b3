#!/bin/sh
# Builds hypre with CUDA for make multigrid HYPRE_DIR=..., and prints that folder as the last line on stdout:
# config/hypre.sh SOURCES
#
# SOURCES is a folder with hypre's sources: git clone --branch v3.1.0 https://github.com/hypre-space/hypre SOURCES.
# It is built with real numbers of double precision, indices of 32 bits, MPI, shared, and with device memory from CUDA's
# pool: most of an hour on one core, once for each version and options. What is built is kept in
# ${XDG_CACHE_HOME:-~/.cache}/petsc-bai.
#   CUDA_HOME      CUDA toolkit (the one nvcc in PATH belongs to, else /usr/local/cuda)
#   CUDA_ARCH      compute capability without the dot (that of the GPU here, else 90)
#   MAKE_NP        processes to build with (all)
# Another hypre does as well, however it was built: make needs no more than its HYPRE_DIR.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
why='config/hypre.sh was asked for'
. "$here/common.sh"

sources=${1:-}
[ -f "$sources/src/CMakeLists.txt" ] ||
  die "usage: config/hypre.sh SOURCES, a folder with the sources of hypre 3"
version=$(sed -n 's/^set(HYPRE_VERSION *\([0-9.]*\).*/\1/p' "$sources/src/CMakeLists.txt")
find_cuda
set -- -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=ON -DHYPRE_ENABLE_MPI=ON \
  -DHYPRE_ENABLE_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$arch" -DHYPRE_ENABLE_DEVICE_MALLOC_ASYNC=ON \
  -DHYPRE_ENABLE_UMPIRE=OFF -DHYPRE_BUILD_TESTS=OFF -DHYPRE_BUILD_EXAMPLES=OFF -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared
key=$(printf '%s\n' "$version" "$@" "$("$CUDA_HOME/bin/nvcc" --version | tail -n 1)" | cksum | cut -d' ' -f1)
prefix=$cache/hypre-$version-cuda-$key
alone "hypre-$version-$key"
if [ ! -f "$prefix/complete" ]; then
  install_packages make cmake g++ libopenmpi-dev openmpi-bin
  build=$cache/build-hypre-$version-$key
  say "hypre $version is built with $CUDA_HOME into $prefix: most of an hour on one core"
  rm -rf "$build" "$prefix"
  mkdir -p "$build"
  unset MAKEFLAGS MFLAGS MAKELEVEL
  logged "hypre $version: cmake" "$build/cmake.log" 50 cmake -S "$sources/src" -B "$build/build" \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_RPATH="$CUDA_HOME/lib64" -DCUDAToolkit_ROOT="$CUDA_HOME" \
    -DCMAKE_CUDA_COMPILER="$CUDA_HOME/bin/nvcc" -DCMAKE_CUDA_FLAGS=-w "$@"
  logged "hypre $version: make" "$build/make.log" 620 make -C "$build/build" -j"${MAKE_NP:-$(nproc)}"
  logged "hypre $version: install" "$build/install.log" 60 make -C "$build/build" install
  touch "$prefix/complete"
  rm -rf "$build"
fi
echo "$prefix"
