/*
   The iterate that thread blocks share: relaxed loads and stores at the scope of the device, through its L2 cache. A
   complex entry consists of two reals, and may be seen half new
*/
#pragma once

#include "../../common/cuda/atomic.h"
#include "state.h"

/* The row at place i of a tile, or -1 */
static __device__ inline int BAIRowAt(const BAISliced &A, int tile, int i)
{
  const int place = tile * A.tile_rows + i;

  return i >= A.tile_rows ? -1 : A.row ? A.row[place] : place < A.n ? place : -1;
}

/* The real type of V, which is BAIScalar or BAISingle */
template <typename V>
struct BAIPartOf {
  typedef V Real;
};

#if defined(PETSC_USE_COMPLEX)
template <typename R>
struct BAIPartOf<cuda::std::complex<R>> {
  typedef R Real;
};
#endif

template <typename V>
using BAIRealOf = typename BAIPartOf<V>::Real;

/* Loads a value that is not needed again soon */
template <typename V>
static __device__ inline V BAIStreamed(const V *a)
{
  return __ldcs(a);
}

#if defined(PETSC_USE_COMPLEX)
template <typename R>
static __device__ inline cuda::std::complex<R> BAIStreamed(const cuda::std::complex<R> *a)
{
  const R *part = reinterpret_cast<const R *>(a);

  return cuda::std::complex<R>(__ldcs(part), __ldcs(part + 1));
}

static __device__ inline BAIReal BAIAbs(BAIScalar value)
{
  return cuda::std::abs(value);
}

static __device__ inline BAIReal BAIAbs2(BAIScalar value)
{
  return value.real() * value.real() + value.imag() * value.imag();
}
#else
static __device__ inline BAIReal BAIAbs(BAIReal value)
{
  return fabs(value);
}

static __device__ inline BAIReal BAIAbs2(BAIReal value)
{
  return value * value;
}
#endif

/*
   Loads x of another tile. If no thread writes it until this tile is done, the L1 cache may serve the load: this tile
   has seen the flags of the tiles that wrote it, which removes older values from that cache
*/
template <BAIOrder order, typename V>
static __device__ inline V BAILoadOther(const V *x)
{
  if constexpr (order == BAI_FLAGS || order == BAI_TURNS) return *x;
  else return BAILoad(x);
}

/* Loads x of a column outside the blocks. Another rank may write a ghost while mode async iterates */
template <BAIOrder order, typename V>
static __device__ inline V BAILoadColumn(const BAISliced &A, const V *x, const V *ghost, int col)
{
  if (col < A.n) return BAILoadOther<order>(x + col);
  if constexpr (order == BAI_FLAGS || order == BAI_TURNS) return ghost[col - A.n];
  else return BAILoadFar(ghost + (col - A.n));
}

/* The padding of places without an entry: negative zero, as zero entries are positive */
template <typename V>
static __device__ inline V BAINoEntry()
{
  return V(-0.f);
}

template <typename R>
static __device__ inline bool BAIIsNoEntry(R a)
{
  return a == 0 && signbit(a);
}

#if defined(PETSC_USE_COMPLEX)
template <typename R>
static __device__ inline bool BAIIsNoEntry(const cuda::std::complex<R> &a)
{
  return a.imag() == 0 && BAIIsNoEntry(a.real());
}
#endif

/* The address in off_j of the number of entry w of a row in a slice; and the column that this number j stands for */
static __device__ inline const int *BAIColumnAt(const BAISliced &A, const BAISlice &slice, int w, int lane)
{
  return A.off_j + slice.off_j + (slice.by_delta ? w : (long long)w * BAI_LANES + lane);
}

static __device__ inline int BAIColumn(const BAISliced &A, bool by_delta, int row, int j)
{
  return by_delta ? min(max(row + j, 0), A.cols - 1) : j; /* a row without an entry there has a zero */
}

/* The position of the entries of a lane's row outside its block: entry w is at a + w*step in off_a and at j + w*step_j
   in off_j. In columns, some of them may be padding */
typedef struct {
  long long a, j;
  int       step, step_j, width;
  bool      by_delta;
} BAIOutside;

/* Where the entries of a lane's row outside its block are: row by row if the slice is packed (see off_first), otherwise
   in columns. S must be A.slice[slice] */
static __device__ inline BAIOutside BAIOutsideOf(const BAISliced &A, const BAISlice &S, int slice, int lane)
{
  const int *first = A.off_first + (size_t)slice * (BAI_LANES + 1) + lane;

  if (!A.off_first || first[0] < 0)
    return {S.off + lane,     S.by_delta ? S.off_j : S.off_j + lane,
            BAI_LANES,        S.by_delta ? 1 : BAI_LANES,
            (int)S.off_width, S.by_delta != 0};
  return {S.off + first[0], S.off_j + first[0], 1, 1, first[1] - first[0], false};
}

static __device__ inline BAIScalar BAIValue(const BAISliced &A, const void *a, long long at)
{
  return A.single ? BAIScalar(static_cast<const BAISingle *>(a)[at]) : static_cast<const BAIScalar *>(a)[at];
}

/* Columns inside a tile, with 16 bits */
struct BAINarrow {
  const uint16_t *j;

  __device__     BAINarrow(const BAISliced &A) : j(static_cast<const uint16_t *>(A.loc_j)) {}
  __device__ int operator[](long long k) const { return j[k]; }
};

/* Columns inside a tile, with 16 or 32 bits */
struct BAINarrowOrWide {
  const void *j;
  bool        wide;

  __device__     BAINarrowOrWide(const BAISliced &A) : j(A.loc_j), wide(BAIWide(&A)) {}
  __device__ int operator[](long long k) const
  {
    return wide ? static_cast<const int *>(j)[k] : static_cast<const uint16_t *>(j)[k];
  }
};
