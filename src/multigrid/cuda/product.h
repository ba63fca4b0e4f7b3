/* Products of a matrix on a device with a vector by warps, and on request their rounding errors */
#pragma once

#include "tuning.h"
#include <cub/util_ptx.cuh>

enum {
  BAI_SOLVE_WARPS = BAI_SOLVE_THREADS / BAI_TEAM
};

/* The rounding error of a product, and of a sum; unused with complex numbers */
static __device__ inline BAIScalar LostInProduct(BAIScalar a, BAIScalar x, BAIScalar product)
{
#if defined(PETSC_USE_COMPLEX)
  return 0;
#else
  return fma(a, x, -product);
#endif
}

/* Returns a + b - sum, which has no rounding error if sum is a + b rounded (D. E. Knuth). Unused with complex
   numbers */
static __device__ inline BAIScalar LostInSum(BAIScalar a, BAIScalar b, BAIScalar sum)
{
  const BAIScalar part = sum - a;

  return (a - (sum - part)) + (b - part);
}

/* RowsTimes() for long rows: BAI_LONG_ROW_TEAM lanes share a row. The entries of the row of this lane are mine to
   mine_end - 1 */
template <bool CAREFUL, typename X>
static __device__ inline BAIScalar LongRowsTimes(const BAIRows &A, int mine, int mine_end, const X *x, BAIScalar *lost)
{
  const int lane = (int)threadIdx.x % BAI_TEAM, at_once = BAI_TEAM / BAI_LONG_ROW_TEAM;
  BAIScalar result = 0;

  if (CAREFUL) *lost = 0;
  for (int begin = 0; begin < BAI_TEAM; begin += at_once) {
    const int row = begin + lane / BAI_LONG_ROW_TEAM, end = __shfl_sync(~0u, mine_end, row);
    BAIScalar sum = 0, rest = 0;

    for (int at = __shfl_sync(~0u, mine, row) + lane % BAI_LONG_ROW_TEAM; at < end;
         at += BAI_PRODUCT_AT_ONCE * BAI_LONG_ROW_TEAM) {
      int       col[BAI_PRODUCT_AT_ONCE];
      BAIScalar value[BAI_PRODUCT_AT_ONCE];

#pragma unroll
      for (int k = 0; k < BAI_PRODUCT_AT_ONCE; k++) {
        const int e = at + k * BAI_LONG_ROW_TEAM;

        col[k]   = e < end ? __ldcs(A.j + e) : 0;
        value[k] = e < end ? A.a[e] : BAIScalar(0);
      }
#pragma unroll
      for (int k = 0; k < BAI_PRODUCT_AT_ONCE; k++) {
        const BAIScalar other = BAIScalar(x[col[k]]), product = value[k] * other, before = sum;

        sum += product;
        if (CAREFUL) rest += LostInSum(before, product, sum) + LostInProduct(value[k], other, product);
      }
    }
#pragma unroll
    for (int k = BAI_LONG_ROW_TEAM / 2; k; k /= 2) {
      const BAIScalar other = cub::ShuffleDown<BAI_LONG_ROW_TEAM>(sum, k, BAI_LONG_ROW_TEAM - 1, ~0u), before = sum;

      sum += other;
      if (CAREFUL)
        rest += LostInSum(before, other, sum) +
          cub::ShuffleDown<BAI_LONG_ROW_TEAM>(rest, k, BAI_LONG_ROW_TEAM - 1, ~0u);
    }
    const int       from  = (lane - begin) * BAI_LONG_ROW_TEAM & (BAI_TEAM - 1);
    const BAIScalar found = cub::ShuffleIndex<BAI_TEAM>(sum, from, ~0u);
    const BAIScalar other = CAREFUL ? cub::ShuffleIndex<BAI_TEAM>(rest, from, ~0u) : BAIScalar(0);

    if (lane < begin || lane >= begin + at_once) continue;
    result = found;
    if (CAREFUL) *lost = other;
  }
  return result;
}

/*
   The products of 32 rows with x by a warp, one in each lane. The entries of the rows are contiguous, and lanes fetch
   them in turn, whatever the lengths of the rows. room has BAI_PRODUCT_AT_ONCE products of each lane, or twice that if
   CAREFUL; then *lost gets the rounding error of the result (T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot
   product", SIAM J. Sci. Comput. 26, 2005)
*/
template <bool CAREFUL, typename X>
static __device__ inline BAIScalar RowsTimes(const BAIRows &A, long long first, const X *x, BAIScalar *room,
                                             BAIScalar *lost)
{
  const int       lane = (int)threadIdx.x % BAI_TEAM, more = BAI_PRODUCT_AT_ONCE * BAI_TEAM;
  const long long row  = first + lane;
  const int       mine = A.i[row < A.n ? row : A.n], mine_end = A.i[row < A.n ? row + 1 : A.n];
  const int       begin = __shfl_sync(~0u, mine, 0), end = __shfl_sync(~0u, mine_end, BAI_TEAM - 1);
  BAIScalar       sum = 0, rest = 0;

  if (end - begin > BAI_LONG_IN_PRODUCT * BAI_TEAM) return LongRowsTimes<CAREFUL>(A, mine, mine_end, x, lost);
  for (int at = begin; at < end; at += more) {
    int       col[BAI_PRODUCT_AT_ONCE];
    BAIScalar value[BAI_PRODUCT_AT_ONCE];

#pragma unroll
    for (int k = 0; k < BAI_PRODUCT_AT_ONCE; k++) {
      const int e = at + k * BAI_TEAM + lane;

      col[k]   = e < end ? __ldcs(A.j + e) : 0;
      value[k] = e < end ? A.a[e] : BAIScalar(0);
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < BAI_PRODUCT_AT_ONCE; k++) {
      const BAIScalar other = BAIScalar(x[col[k]]), product = value[k] * other;

      room[k * BAI_TEAM + lane] = product;
      if (CAREFUL) room[more + k * BAI_TEAM + lane] = LostInProduct(value[k], other, product);
    }
    __syncwarp();
    for (int k = mine > at ? mine - at : 0; k < mine_end - at && k < more; k++) {
      const BAIScalar before = sum;

      sum += room[k];
      if (CAREFUL) rest += LostInSum(before, room[k], sum) + room[more + k];
    }
  }
  if (CAREFUL) *lost = rest;
  return sum;
}

/* a b; real products are rounded, so that they are not fused with a sum */
static __device__ inline BAIScalar Rounded(BAIScalar a, BAIScalar b)
{
#if defined(PETSC_USE_COMPLEX)
  return a * b;
#elif defined(PETSC_USE_REAL_SINGLE)
  return __fmul_rn(a, b);
#else
  return __dmul_rn(a, b);
#endif
}

/* The product of a row with x, from the entries of the row of its kind. x of a batch of entries is fetched at once.
   If CAREFUL, *lost gets the rounding error of the result */
template <bool CAREFUL, typename X>
static __device__ inline BAIScalar LikeRowTimes(const BAIAlikeRows &alike, const BAIRows &A, int row, const X *x,
                                                BAIScalar *lost)
{
  const BAIAlikeRow like  = alike.of[alike.kind[row]];
  const int         count = like.end - like.begin;
  const int        *j     = A.j + like.begin;
  const BAIScalar  *a     = A.a + like.begin;
  BAIScalar         sum = 0, rest = 0;

  for (int at = 0; at < count; at += BAI_LIKE_AT_ONCE) {
    int col[BAI_LIKE_AT_ONCE];
    X   other[BAI_LIKE_AT_ONCE];

#pragma unroll
    for (int k = 0; k < BAI_LIKE_AT_ONCE; k++) col[k] = at + k < count ? j[at + k] + row - like.row : row;
#pragma unroll
    for (int k = 0; k < BAI_LIKE_AT_ONCE; k++) other[k] = x[col[k]];
#pragma unroll
    for (int k = 0; k < BAI_LIKE_AT_ONCE; k++) {
      const BAIScalar value = at + k < count ? a[at + k] : BAIScalar(0), of_x = BAIScalar(other[k]),
                      product = Rounded(value, of_x), before = sum;

      sum += product;
      if (CAREFUL) rest += LostInSum(before, product, sum) + LostInProduct(value, of_x, product);
    }
  }
  if (CAREFUL) *lost = rest;
  return sum;
}

/* Whether any of the rows of this thread block, which are in the order of its threads, has ghost entries. row is that
   of this thread, and the matrix has n rows */
static __device__ inline bool HasGhosts(const BAIFarRows &far, long long row, int n)
{
  const long long first = row - threadIdx.x, last = first + BAI_SOLVE_THREADS;

  return far.B.i && far.B.i[first] != far.B.i[last < n ? last : n];
}

/* Returns sum plus the products of the ghost entries of a row with x, of type X; if CAREFUL, adds the rounding errors
   to *lost */
template <bool CAREFUL, typename X>
static __device__ inline BAIScalar GhostsTimes(const BAIFarRows &far, long long row, BAIScalar sum, BAIScalar *lost)
{
  for (BAIInt e = far.B.i[row]; e < far.B.i[row + 1]; e++) {
    const BAIScalar other = BAIScalar(static_cast<const X *>(far.x)[far.B.j[e]]), product = far.B.a[e] * other,
                    before = sum;

    sum += product;
    if (CAREFUL) *lost += LostInSum(before, product, sum) + LostInProduct(far.B.a[e], other, product);
  }
  return sum;
}

/* Shared memory for arrays arrays of RowsTimes(); as bytes, as complex numbers have constructors */
enum {
  BAI_PRODUCT_ROOM = BAI_PRODUCT_AT_ONCE * BAI_TEAM /* numbers of an array for a warp */
};
#define BAI_ROOM_FOR_PRODUCTS(room, arrays) \
  __shared__          __align__( \
             16) unsigned char room##_bytes[BAI_SOLVE_WARPS * arrays * BAI_PRODUCT_ROOM * sizeof(BAIScalar)]; \
  BAIScalar *room = reinterpret_cast<BAIScalar *>(room##_bytes) + threadIdx.x / BAI_TEAM * arrays * BAI_PRODUCT_ROOM
