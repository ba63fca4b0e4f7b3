/*
   A row that a thread keeps for a whole launch in registers; entries of long rows outside the block are in shared
   memory
*/
#pragma once

#include "sweep.h"

enum {
  LOADS_IN_FLIGHT = 16 /* loads of x for the entries of a long row */
};

/*
   The part of a row inside its block, divided by a_ii, so that a local sweep is a sum. Columns are 16-bit numbers in
   pairs. Sums consist of two halves, as one long chain of additions would take longer than the rest of a sweep
*/
template <int LOC>
struct RowInside {
  using V = BAIScalar;
  V        a[LOC], b;
  BAIReal  d2; /* |a_ii|^2 */
  unsigned j[LOC / 2];

  /* Loads the row of a lane of slice S at a place, and its b from rhs; row is -1 in a lane without one */
  __device__ void Load(const BAISliced &A, const BAISlice &S, const V *rhs, int lane, int row, int place, V dinv)
  {
    const uint16_t *col   = static_cast<const uint16_t *>(A.loc_j) + S.loc + lane;
    const V        *loc_a = static_cast<const V *>(A.loc_a) + S.loc + lane;

#pragma unroll
    for (int w = 0; w < LOC; w++) {
      const unsigned c = w < S.loc_width ? col[w * BAI_LANES] : 0;

      a[w]     = w < S.loc_width ? loc_a[w * BAI_LANES] * dinv : V(0);
      j[w / 2] = w % 2 ? j[w / 2] | c << 16 : c;
    }
    b  = row >= 0 ? rhs[row] * dinv : V(0);
    d2 = row >= 0 ? BAIAbs2(A.d[place]) : 0;
  }

  /* sum minus the products inside the block, without the diagonal */
  __device__ V Inside(V sum, const V *y) const
  {
    V half = 0;

#pragma unroll
    for (int w = 0; w < LOC; w += 2) {
      sum -= a[w] * y[j[w / 2] & 0xffff];
      half -= a[w + 1] * y[j[w / 2] >> 16];
    }
    return sum + half;
  }
};

template <int LOC, int OFF, BAIOrder order>
struct Row : RowInside<LOC> {
  using V = BAIScalar;
  V   off_a[OFF];
  int off_j[OFF];

  /* Places without an entry get a zero, and the column elsewhere */
  __device__ void Load(const BAISliced &A, const V *rhs, int slice, int lane, int row, int place, int elsewhere,
                       unsigned char *)
  {
    const BAISlice S    = A.slice[slice];
    const V        dinv = row >= 0 ? static_cast<const V *>(A.dinv)[place] : V(0);

    RowInside<LOC>::Load(A, S, rhs, lane, row, place, dinv);
#pragma unroll
    for (int w = 0; w < OFF; w++) {
      const bool there = w < (int)S.off_width;

      off_a[w] = there ? static_cast<const V *>(A.off_a)[S.off + lane + w * BAI_LANES] * dinv : V(0);
      off_j[w] = there ? BAIColumn(A, S.by_delta, row, *BAIColumnAt(A, S, w, lane)) : elsewhere;
    }
  }

  /* b minus the products outside the block, with eight loads in flight */
  __device__ V Outside(const V *x) const
  {
    V sum = RowInside<LOC>::b, half = 0;

#pragma unroll
    for (int w = 0; w < OFF; w += 8) {
      V value[8];

#pragma unroll
      for (int v = 0; v < 8 && w + v < OFF; v++) value[v] = BAILoadOther<order>(x + off_j[w + v]);
#pragma unroll
      for (int v = 0; v < 8 && w + v < OFF; v += 2) {
        sum -= off_a[w + v] * value[v];
        half -= off_a[w + v + 1] * value[v + 1];
      }
    }
    return sum + half;
  }
};

/* Long rows: entries outside the block are in shared memory, one row in each column; plan.cu determines the size */
template <int LOC, BAIOrder order>
struct Row<LOC, 0, order> : RowInside<LOC> {
  using V = BAIScalar;
  const V   *off_a;
  const int *off_j;
  int        width;

  __device__ void Load(const BAISliced &A, const V *rhs, int slice, int lane, int row, int place, int,
                       unsigned char *shared)
  {
    const BAISlice S     = A.slice[slice];
    const V        dinv  = row >= 0 ? static_cast<const V *>(A.dinv)[place] : V(0);
    V             *all_a = reinterpret_cast<V *>(shared) + threadIdx.x;
    int           *all_j = reinterpret_cast<int *>(shared + (size_t)A.off_width * blockDim.x * sizeof(V)) + threadIdx.x;

    RowInside<LOC>::Load(A, S, rhs, lane, row, place, dinv);
    off_a = all_a;
    off_j = all_j;
    width = (int)S.off_width;
#pragma unroll 8
    for (int w = 0; w < width; w++) {
      all_a[w * blockDim.x] = static_cast<const V *>(A.off_a)[S.off + lane + w * BAI_LANES] * dinv;
      all_j[w * blockDim.x] = BAIColumn(A, S.by_delta, row, *BAIColumnAt(A, S, w, lane));
    }
  }

  __device__ V Outside(const V *x) const
  {
    V sum = RowInside<LOC>::b, half = 0;

    for (int w = 0; w < width; w += LOADS_IN_FLIGHT) {
      V value[LOADS_IN_FLIGHT];

#pragma unroll
      for (int v = 0; v < LOADS_IN_FLIGHT; v++)
        value[v] = w + v < width ? BAILoadOther<order>(x + off_j[(w + v) * blockDim.x]) : V(0);
#pragma unroll
      for (int v = 0; v < LOADS_IN_FLIGHT; v += 2) {
        if (w + v < width) sum -= off_a[(w + v) * blockDim.x] * value[v];
        if (w + v + 1 < width) half -= off_a[(w + v + 1) * blockDim.x] * value[v + 1];
      }
    }
    return sum + half;
  }
};
