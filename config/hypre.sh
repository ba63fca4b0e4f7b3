#!/bin/sh
# Gets hypre with CUDA for make multigrid HYPRE_DIR=..., and prints that folder as the last line on stdout:
# config/hypre.sh [WHY]
#
# It is built from Debian's source package (most of an hour on one core, once): real numbers of double precision,
# indices of 32 bits, MPI, a shared library, device memory from CUDA's pool, no Fortran. apt-get gets it, from where
# this machine has its Debian packages from.
# What is built is kept in ${XDG_CACHE_HOME:-~/.cache}/petsc-bai, one folder per version and options.
#   HYPRE_VERSION  version to build (2.32.0)
#   HYPRE_SUITE    release of Debian that has this version (trixie)
#   CUDA_HOME      CUDA toolkit (the one nvcc in PATH belongs to, else /usr/local/cuda)
#   CUDA_ARCH      compute capability without the dot (that of the GPU here, else 90)
#   MAKE_NP        processes to build with (all)
# Another hypre does as well, however it was built: make needs no more than its HYPRE_DIR.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
why=${1:-'config/hypre.sh was asked for'}
. "$here/common.sh"

version=${HYPRE_VERSION:-2.32.0} suite=${HYPRE_SUITE:-trixie}

# apt-get with lists and sources of its own, so that those of the machine stay as they are
apt()
{
  apt-get -o Dir::State::lists="$src/apt" -o Dir::Cache="$src/apt" -o Dir::Etc::sourcelist="$src/sources.list" \
    -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root "$@"
}

download()
{
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
    sed -n '/security/d;s/^Debian //p' | head -n 1)
  [ -n "$mirror" ] || die "there are no packages of Debian here: install hypre another way, and tell make its HYPRE_DIR"
  mkdir -p "$src/apt/partial" "$src/apt/archives/partial"
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$src/sources.list"
  logged "hypre: lists of packages" "$src/lists.log" 5 apt update
  cd "$src"
  logged "hypre $version: download" "$src/download.log" 10 apt source --download-only --tar-only hypre
  [ -f "hypre_$version.orig.tar.gz" ] ||
    die "Debian $suite has $(echo hypre_*.orig.tar.*), not version $version: set HYPRE_VERSION, HYPRE_SUITE"
  tar -xzf "hypre_$version.orig.tar.gz"
}

# hypre 2.32 uses what CUDA 13 no longer has: these are the same
compatible()
{
  cat >"$src/compatible.h" <<'HEADER'
#pragma once
#ifdef __CUDACC__
  #include <cuda_runtime.h>
  #include <thrust/functional.h>
  #include <thrust/version.h>
  #if THRUST_VERSION >= 300000
namespace thrust
{
template <class Argument, class Result>
struct unary_function {
  typedef Argument argument_type;
  typedef Result   result_type;
};
template <class First, class Second, class Result>
struct binary_function {
  typedef First  first_argument_type;
  typedef Second second_argument_type;
  typedef Result result_type;
};
template <class T>
struct identity {
  __host__ __device__ const T &operator()(const T &x) const
  {
    return x;
  }
};
template <class Predicate>
struct unary_negate {
  Predicate predicate;

  template <class T>
  __host__ __device__ bool operator()(const T &x)
  {
    return !predicate(x);
  }
};
template <class Predicate>
__host__ __device__ unary_negate<Predicate> not1(const Predicate &predicate)
{
  return unary_negate<Predicate>{predicate};
}
} // namespace thrust
  #endif
  #if CUDART_VERSION >= 13000
static inline cudaError_t cudaMemPrefetchAsync(const void *p, size_t size, int device, cudaStream_t stream)
{
  cudaMemLocation location;

  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id   = device;
  return cudaMemPrefetchAsync(p, size, location, 0, stream);
}
  #endif
#endif
HEADER
  sed -i 's/^\( *\)make_reverse_iterator(/\1thrust::make_reverse_iterator(/' "$src/hypre-$version"/src/IJ_mv/*_device.c
}

find_cuda
set -- -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib -DHYPRE_ENABLE_SHARED=ON -DHYPRE_WITH_MPI=ON \
  -DHYPRE_WITH_CUDA=ON -DHYPRE_CUDA_SM="$arch" -DHYPRE_ENABLE_DEVICE_MALLOC_ASYNC=ON -DHYPRE_WITH_UMPIRE=OFF \
  -DHYPRE_BUILD_TESTS=OFF -DHYPRE_BUILD_EXAMPLES=OFF -DCMAKE_CXX_STANDARD=17 -DCMAKE_CUDA_STANDARD=17 \
  -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared
key=$(printf '%s\n' "$@" "$("$CUDA_HOME/bin/nvcc" --version | tail -n 1)" | cksum | cut -d' ' -f1)
prefix=$cache/hypre-$version-cuda-$key
alone "hypre-$version-$key"
if [ ! -f "$prefix/complete" ]; then
  install_packages make cmake g++ libopenmpi-dev openmpi-bin
  src=$cache/build-hypre-$version-$key
  say "$why"
  say "so hypre $version is downloaded from Debian $suite (by apt-get) and built with $CUDA_HOME, into $prefix:"
  say "  most of an hour on one core"
  rm -rf "$src" "$prefix"
  mkdir -p "$src"
  download
  compatible
  unset MAKEFLAGS MFLAGS MAKELEVEL
  logged "hypre $version: cmake" "$src/cmake.log" 50 cmake -S "$src/hypre-$version/src" -B "$src/build" \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_RPATH="$CUDA_HOME/lib64" -DCUDAToolkit_ROOT="$CUDA_HOME" \
    -DCMAKE_CUDA_COMPILER="$CUDA_HOME/bin/nvcc" -DCMAKE_CUDA_FLAGS="-w -include $src/compatible.h" "$@"
  logged "hypre $version: make" "$src/make.log" 620 make -C "$src/build" -j"${MAKE_NP:-$(nproc)}"
  logged "hypre $version: install" "$src/install.log" 60 make -C "$src/build" install
  touch "$prefix/complete"
  cd "$cache"
  rm -rf "$src"
fi
echo "$prefix"
